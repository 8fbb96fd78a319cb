package tables

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// parseValue parses a JSON value with or without an annotated type. Without one, a number
// with a point or an exponent is a double, and other numbers are the smallest integer type
// that they fit. A null is no value.
func parseValue(raw []byte, t Type) (Value, error) {
	switch raw[0] {
	case 'n':
		return Value{}, nil
	case 't', 'f':
		return Boolean(raw[0] == 't').as(t)
	case '"':
		text, err := unquote(nil, raw)
		if err != nil {
			return Value{}, err
		}
		return parseText(text, t)
	case '{', '[':
		return Value{}, errors.New("storage has no objects or arrays")
	}
	v, err := parseNumber(raw)
	if err != nil {
		return Value{}, err
	}
	return v.as(t)
}

func parseNumber(raw []byte) (Value, error) {
	if bytes.IndexByte(raw, '.') < 0 && !bytes.ContainsAny(raw, "eE") {
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			if int64(int32(i)) == i && string(raw) != "-0" {
				return Int32(int32(i)), nil
			}
			if i != 0 {
				return Int64(i), nil
			}
		}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return Double(f), err
}

// as converts v to its annotated type.
func (v Value) as(t Type) (Value, error) {
	switch {
	case t == TypeNone || t == v.kind || v.kind == TypeNone:
		return v, nil
	case v.kind == TypeString:
		return parseText([]byte(v.text), t)
	case t == TypeDouble && (v.kind == TypeInt32 || v.kind == TypeInt64):
		return Double(v.Float()), nil
	case t == TypeInt64 && v.kind == TypeInt32:
		return Int64(v.Int()), nil
	}
	return Value{}, fmt.Errorf("%s is annotated as %s", v.kind, t)
}

// parseText parses the text of a JSON string as a type.
func parseText(text []byte, t Type) (v Value, err error) {
	switch t {
	case TypeNone, TypeString:
		return String(string(text)), nil
	case TypeGUID:
		return GUID(string(text)), nil
	case TypeInt32, TypeInt64:
		size := 64
		if t == TypeInt32 {
			size = 32
		}
		i, err := strconv.ParseInt(string(text), 10, size)
		return Value{kind: t, bits: uint64(i)}, err
	case TypeDouble:
		return parseDouble(text)
	case TypeDateTime:
		at, err := parseDateTime(text)
		return DateTime(at), err
	case TypeBinary:
		b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(b, text)
		return Binary(b[:n]), err
	case TypeBoolean:
		b, err := strconv.ParseBool(string(text))
		return Boolean(b), err
	}
	return Value{}, fmt.Errorf("text is annotated as %s", t)
}

func parseDouble(text []byte) (Value, error) {
	switch string(text) {
	case "NaN":
		return Double(math.NaN()), nil
	case "Infinity":
		return Double(math.Inf(1)), nil
	case "-Infinity":
		return Double(math.Inf(-1)), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return Double(f), err
}

// parseDateTime parses Edm.DateTime with any number of fractional digits.
func parseDateTime(text []byte) (Ticks, error) {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return 0, err
	}
	return TicksOf(t), nil
}

// unquote returns the text of a JSON string. Without escapes it is a part of raw; else it is appended to text. U+FFFD
// replaces invalid UTF-8 and half a surrogate pair: devices can send both, and some servers
// store them.
func unquote(text, raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, fmt.Errorf("%s where a string was expected", raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : len(raw)-1], nil
	}
	text, err := jsontext.AppendUnquote(text, raw)
	if err != nil && !raggedText(raw) {
		return nil, err
	}
	return text, nil
}

// raggedText reports whether raw is a JSON string, apart from invalid UTF-8.
func raggedText(raw []byte) bool {
	return jsontext.Value(raw).IsValid(jsontext.AllowInvalidUTF8(true))
}
