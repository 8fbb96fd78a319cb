package tables

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// dateTime is the layout of Edm.DateTime with all digits, in UTC.
const dateTime = "2006-01-02T15:04:05.0000000Z"

const annotation = "@odata.type"

// appendEntity appends e as the body of a request. It annotates values of types that JSON
// does not have, and doubles, because some clients write 21.0 as 21, which is an integer.
// learn.microsoft.com: "Payload format for Table service operations".
func appendEntity(b []byte, e *Entity) ([]byte, error) {
	b = append(b, `{"PartitionKey":`...)
	b, err := jsontext.AppendQuote(b, e.PartitionKey)
	if err != nil {
		return nil, fmt.Errorf("entity %s: partition key: %w", e.name(), err)
	}
	b = append(b, `,"RowKey":`...)
	if b, err = jsontext.AppendQuote(b, e.RowKey); err != nil {
		return nil, fmt.Errorf("entity %s: row key: %w", e.name(), err)
	}
	for _, p := range e.Properties {
		if b, err = appendProperty(b, p); err != nil {
			return nil, fmt.Errorf("entity %s: property %s: %w", e.name(), Quote(p.Name), err)
		}
	}
	return append(b, '}'), nil
}

// MarshalJSON returns e as storage expects it in a request.
func (e Entity) MarshalJSON() ([]byte, error) { return appendEntity(nil, &e) }

// UnmarshalJSON reads an entity as MarshalJSON or storage writes it.
func (e *Entity) UnmarshalJSON(b []byte) (err error) {
	*e, err = decodeEntity(b)
	return err
}

// appendProperty relies on Check, which refuses names with quotes.
func appendProperty(b []byte, p Property) ([]byte, error) {
	if p.Value.kind == TypeNone {
		return b, nil
	}
	if p.Value.kind > TypeInt32 {
		b = append(b, `,"`...)
		b = append(b, p.Name...)
		b = append(b, annotation+`":"`...)
		b = append(b, p.Value.kind.String()...)
		b = append(b, '"')
	}
	b = append(b, `,"`...)
	b = append(b, p.Name...)
	b = append(b, `":`...)
	return p.Value.append(b)
}

// size returns an upper bound of p's size as JSON, without encoding it.
func (p *Property) size() int {
	const number = 40 // a date with its quotes has 30
	n := 2*len(p.Name) + len(`,"":`) + len(`,"@odata.type":"Edm.DateTime"`)
	switch p.Value.kind {
	case TypeBinary:
		return n + base64.StdEncoding.EncodedLen(len(p.Value.text)) + len(`""`)
	case TypeString, TypeGUID:
		return n + quotedSize(p.Value.text)
	}
	return n + number
}

// quotedSize returns the size of s with quotes and escapes.
func quotedSize(s string) int {
	n := len(s) + len(`""`)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += len(`\u0000`) - 1
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

// append appends v as JSON.
func (v Value) append(b []byte) ([]byte, error) {
	switch v.kind {
	case TypeBoolean:
		return strconv.AppendBool(b, v.Boolean()), nil
	case TypeInt32:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case TypeInt64:
		b = strconv.AppendInt(append(b, '"'), v.Int(), 10)
		return append(b, '"'), nil
	case TypeDouble:
		return appendDouble(b, v.Float()), nil
	case TypeDateTime:
		b = v.Ticks().Time().AppendFormat(append(b, '"'), dateTime)
		return append(b, '"'), nil
	case TypeBinary:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), []byte(v.text))
		return append(b, '"'), nil
	}
	return jsontext.AppendQuote(b, v.text)
}

// appendDouble appends the shortest text that is parsed as f, with a point or an exponent.
// NaN and the infinities are strings.
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
