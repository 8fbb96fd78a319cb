package fold

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how deep the values of a property may be nested.
const maxNesting = 8

var (
	errNesting = fmt.Errorf("it is nested more than %d deep", maxNesting)
	errLeaves  = fmt.Errorf("with it, its row has more than %d values", MaxSensors)
)

// A flattener splits the values of properties by sensor. A text that is a JSON object or array, which is how devices
// put nested objects into a table, has one value for each of its leaves: {"air":{"temp":21}} in weather is the sensor
// weather_air_temp.
//
// It reads everything once. Its results are bounded by the number of leaves and the lengths of names before they are
// made.
type flattener struct {
	leaves []leaf
	name   []byte // name of the value that is being read
	long   []string
}

type leaf struct {
	sensor string
	value  tables.Value // of a nested number, its text
	number bool         // nested, and no text in JSON
}

// flatten returns the leaves of a property, at most so many, and the beginnings of names that are too long. They are
// valid until the next call.
func (f *flattener) flatten(name string, v tables.Value, most int) (leaves []leaf, long []string, err error) {
	f.leaves, f.long = f.leaves[:0], f.long[:0]
	if !isNested(v) {
		return f.single(name, v, most)
	}
	f.name = append(f.name[:0], name...)
	d := jsontext.NewDecoder(bytes.NewBufferString(v.Text()), jsontext.AllowInvalidUTF8(true))
	err = f.value(d, 0, most)
	if err == nil {
		if _, end := d.ReadToken(); end != io.EOF {
			err = errors.New("something follows it")
		}
	}
	switch {
	case errors.Is(err, errNesting) || errors.Is(err, errLeaves):
		return nil, nil, err
	case err != nil: // a text that only looks like JSON
		f.leaves, f.long = f.leaves[:0], f.long[:0]
		return f.single(name, v, most)
	}
	return f.leaves, f.long, nil
}

// Flatten returns the values of a property by sensor, as the device sent them.
func Flatten(p tables.Property) (sensors []tables.Property) {
	var f flattener
	leaves, _, err := f.flatten(p.Name, p.Value, MaxSensors)
	if err != nil {
		return nil
	}
	for _, l := range leaves {
		if i, err := strconv.ParseInt(l.value.Text(), 10, 64); l.number && err == nil {
			l.value = tables.Int64(i)
		} else if f, err := strconv.ParseFloat(l.value.Text(), 64); l.number && err == nil {
			l.value = tables.Double(f)
		}
		sensors = append(sensors, tables.Property{Name: l.sensor, Value: l.value})
	}
	return sensors
}

// isNested reports whether v looks like a JSON object or array.
func isNested(v tables.Value) bool {
	text := v.Text()
	return text != "" && (text[0] == '{' || text[0] == '[') && v.Type() == tables.TypeString
}

// single is a value that is not nested.
func (f *flattener) single(name string, v tables.Value, most int) ([]leaf, []string, error) {
	switch {
	case most < 1:
		return nil, nil, errLeaves
	case len(name) > maxSensorName:
		f.long = append(f.long, name)
	default:
		f.leaves = append(f.leaves, leaf{sensor: name, value: v})
	}
	return f.leaves, f.long, nil
}

// value reads one JSON value, whose name is in f.name.
func (f *flattener) value(d *jsontext.Decoder, depth, most int) error {
	if depth > maxNesting {
		return errNesting
	}
	if len(f.name) > maxSensorName {
		return f.skip(d)
	}
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '{':
		return f.object(d, depth, most)
	case '[':
		return f.array(d, depth, most)
	case '"', '0': // a number is read as any numeric text is
		return f.leaf(tables.String(token.String()), token.Kind() == '0', most)
	case 't', 'f':
		return f.leaf(tables.Boolean(token.Bool()), false, most)
	}
	return nil // null is absent
}

func (f *flattener) leaf(v tables.Value, number bool, most int) error {
	if len(f.leaves) == most {
		return errLeaves
	}
	f.leaves = append(f.leaves, leaf{string(f.name), v, number})
	return nil
}

// skip skips a value whose name is too long, and keeps a few of those names.
func (f *flattener) skip(d *jsontext.Decoder) error {
	if len(f.long) < maxRefusals {
		f.long = append(f.long, string(f.name))
	}
	return d.SkipValue()
}

func (f *flattener) object(d *jsontext.Decoder, depth, most int) error {
	above := len(f.name)
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		f.name = schema.AppendName(append(f.name[:above], '_'), key.String(), maxSensorName)
		if err := f.value(d, depth+1, most); err != nil {
			return err
		}
	}
	f.name = f.name[:above]
	_, err := d.ReadToken()
	return err
}

func (f *flattener) array(d *jsontext.Decoder, depth, most int) error {
	above := len(f.name)
	for i := 0; d.PeekKind() != ']'; i++ {
		f.name = strconv.AppendInt(append(f.name[:above], '_'), int64(i), 10)
		if err := f.value(d, depth+1, most); err != nil {
			return err
		}
	}
	f.name = f.name[:above]
	_, err := d.ReadToken()
	return err
}
