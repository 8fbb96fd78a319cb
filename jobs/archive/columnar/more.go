package columnar

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

// A moreValue is a value of a sensor that has no column of its own. Together, those of a reading are a JSON object.
type moreValue struct {
	name string // of the sensor, with the suffix of its kind
	text []byte // JSON
}

// suffix is what a kind adds to the names of sensors. A number adds nothing, unless the sensor's name ends as if it had
// a suffix: so each name is of one sensor and kind.
func (k Kind) suffix() string { return [...]string{Double: "_double", "_long", "_text", "_bytes"}[k] }

// moreName returns the name of a series in the object.
func moreName(s Series) string {
	if one, is := moreSeries(s.Sensor); s.Kind == Double && !is {
		return one.Sensor
	}
	return s.Sensor + s.Kind.suffix()
}

// MoreSeries returns the series that a name in the object is of.
func MoreSeries(name string) Series {
	s, _ := moreSeries(name)
	return s
}

// moreSeries returns the series that a name in the object is of, and whether the name has a suffix.
func moreSeries(name string) (s Series, is bool) {
	for k := Double; k <= Binary; k++ {
		if sensor, is := strings.CutSuffix(name, k.suffix()); is {
			return Series{Sensor: sensor, Kind: k}, true
		}
	}
	return Series{Sensor: name}, false
}

// moreOf returns a value as JSON: numbers with all their digits, bytes as base64, and what JSON has no number for as
// text.
func moreOf(s Series, v parquet.Value) (more moreValue, err error) {
	more.name = moreName(s)
	switch s.Kind {
	case Long:
		more.text = strconv.AppendInt(nil, v.Int64(), 10)
	case Binary:
		more.text, err = jsontext.AppendQuote(nil, base64.StdEncoding.EncodeToString(v.ByteArray()))
	case Text:
		more.text, err = jsontext.AppendQuote(nil, v.ByteArray())
	default:
		n := v.Double()
		if more.text = strconv.AppendFloat(nil, n, 'g', -1, 64); math.IsNaN(n) || math.IsInf(n, 0) {
			more.text, err = jsontext.AppendQuote(nil, more.text)
		}
	}
	return more, err
}

// moreText returns values as one text, in the order of their names.
func moreText(all []moreValue) ([]byte, error) {
	slices.SortFunc(all, func(a, b moreValue) int { return strings.Compare(a.name, b.name) })
	text := []byte{'{'}
	for i, v := range all {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if text, err = jsontext.AppendQuote(text, v.name); err != nil {
			return nil, fmt.Errorf("sensor %q: %w", v.name, err)
		}
		text = append(append(text, ':'), v.text...)
	}
	return append(text, '}'), nil
}

// readMore yields the values of a text.
func readMore(text []byte, set func(Series, parquet.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		name, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if name.Kind() != '"' { // the object begins or ends
			continue
		}
		s := MoreSeries(name.String())
		value, err := d.ReadToken()
		if err != nil {
			return err
		}
		v, err := moreValueOf(s.Kind, value.String())
		if err != nil {
			return err
		}
		set(s, v)
	}
}

func moreValueOf(k Kind, text string) (v parquet.Value, err error) {
	switch k {
	case Long:
		n, err := strconv.ParseInt(text, 10, 64)
		return parquet.Int64Value(n), err
	case Text:
		return parquet.ByteArrayValue([]byte(text)), nil
	case Binary:
		b, err := base64.StdEncoding.DecodeString(text)
		return parquet.ByteArrayValue(b), err
	}
	n, err := strconv.ParseFloat(text, 64)
	return parquet.DoubleValue(n), err
}
