package archive

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// rfc3339 is exact to the tick, without trailing zeros.
const rfc3339 = "2006-01-02T15:04:05.9999999Z"

// appendLine writes a reading as a line of an object. JSON escapes nothing in IDs, keys and times.
func appendLine(b []byte, r *schema.Reading) (_ []byte, err error) {
	b = append(append(b, `{"device":"`...), r.Device...)
	b = append(append(b, `","key":"`...), r.Key.String()...)
	b = r.Key.Ticks.Time().AppendFormat(append(b, `","time":"`...), rfc3339)
	b = append(b, `","values":{`...)
	comma := false
	for _, p := range r.Properties {
		if p.Value.Type() == tables.TypeNone {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		if b, err = appendValue(b, p); err != nil {
			return nil, fmt.Errorf("reading %s: property %.64q: %w", r.Key, p.Name, err)
		}
	}
	return append(b, "}}\n"...), nil
}

func appendValue(b []byte, p tables.Property) ([]byte, error) {
	b, err := jsontext.AppendQuote(b, p.Name)
	if err != nil {
		return nil, err
	}
	b = append(b, ':')
	switch v := p.Value; v.Type() {
	case tables.TypeBoolean, tables.TypeInt32, tables.TypeInt64:
		return append(b, v.String()...), nil
	case tables.TypeDouble:
		return appendDouble(b, v.Float()), nil
	case tables.TypeDateTime:
		b = v.Ticks().Time().AppendFormat(append(b, '"'), rfc3339)
		return append(b, '"'), nil
	case tables.TypeBinary:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v.Binary())
		return append(b, '"'), nil
	default:
		return jsontext.AppendQuote(b, v.Text())
	}
}

// appendDouble keeps a point or an exponent, so that readers which tell integers from doubles see a double.
func appendDouble(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[n:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}
