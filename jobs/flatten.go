package jobs

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"

	"furrow/tables"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a nested value: a property holds 64 KiB, which could nest as deep.
const maxNesting = 8

var errNesting = errors.New("it is nested more than " + strconv.Itoa(maxNesting) + " deep")

// flatten gives a property's values by sensor. A text that is a JSON object or
// array, which is how devices put nested objects into a table, gives one for each
// of its leaves: {"air":{"temp":21}} in weather is the sensor weather_air_temp.
func flatten(name string, v tables.Value, add func(sensor string, v tables.Value)) error {
	text := v.Text()
	if v.Type() != tables.TypeString || text == "" || text[0] != '{' && text[0] != '[' {
		add(name, v)
		return nil
	}
	type leaf struct {
		sensor string
		value  tables.Value
	}
	var leaves []leaf // given only when the whole is sound
	d := jsontext.NewDecoder(bytes.NewBufferString(text))
	err := descend(d, name, 0, func(sensor string, v tables.Value) { leaves = append(leaves, leaf{sensor, v}) })
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.New("something follows it")
		}
	}
	if errors.Is(err, errNesting) {
		return err
	}
	if err != nil { // a text that only looks like JSON
		add(name, v)
		return nil
	}
	for _, l := range leaves {
		add(l.sensor, l.value)
	}
	return nil
}

// descend reads one JSON value, and calls add for each leaf of it.
func descend(d *jsontext.Decoder, name string, depth int, add func(string, tables.Value)) error {
	if depth > maxNesting {
		return errNesting
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		for d.PeekKind() != '}' {
			key, err := d.ReadToken()
			if err != nil {
				return err
			}
			if err := descend(d, name+"_"+sensorName(key.String()), depth+1, add); err != nil {
				return err
			}
		}
		_, err = d.ReadToken()
	case '[':
		for i := 0; d.PeekKind() != ']'; i++ {
			if err := descend(d, name+"_"+strconv.Itoa(i), depth+1, add); err != nil {
				return err
			}
		}
		_, err = d.ReadToken()
	case '"':
		add(name, tables.String(token.String()))
	case '0':
		add(name, tables.String(token.String())) // read as any numeric text is
	case 't', 'f':
		add(name, tables.Boolean(token.Bool()))
	}
	return err // null is absent
}

// sensorName makes a key of an object fit for the name of a property.
func sensorName(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, key)
}
