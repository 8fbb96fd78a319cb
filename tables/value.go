package tables

import (
	"math"
	"strconv"
)

// A Type is the type of a Value, as in Table Storage.
// learn.microsoft.com: "Understanding the Table service data model", Property types.
type Type uint8

const (
	TypeNone Type = iota // the property is absent
	TypeString
	TypeBoolean
	TypeInt32
	TypeInt64
	TypeDouble
	TypeDateTime
	TypeBinary
	TypeGUID
)

func (t Type) String() string {
	return [...]string{"none", "Edm.String", "Edm.Boolean", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.DateTime",
		"Edm.Binary", "Edm.Guid"}[t]
}

// typeNamed returns the type with a name of annotations, or TypeNone.
func typeNamed(name []byte) Type {
	switch string(name) {
	case "Edm.String":
		return TypeString
	case "Edm.Boolean":
		return TypeBoolean
	case "Edm.Int32":
		return TypeInt32
	case "Edm.Int64":
		return TypeInt64
	case "Edm.Double":
		return TypeDouble
	case "Edm.DateTime":
		return TypeDateTime
	case "Edm.Binary":
		return TypeBinary
	case "Edm.Guid":
		return TypeGUID
	}
	return TypeNone
}

// A Value is the value of a property. The zero Value means that the property is absent;
// storage has no null. Values can be compared with ==, which compares doubles by bits.
type Value struct {
	kind Type
	bits uint64 // of a boolean, an integer, a double, or a DateTime in ticks
	text string // of a string or a GUID, or the bytes of a binary
}

// The values of each type. Entity.Check checks that a DateTime is between 1601 and 9999,
// and that a string is UTF-8.

func String(s string) Value  { return Value{kind: TypeString, text: s} }
func Int32(i int32) Value    { return Value{kind: TypeInt32, bits: uint64(i)} }
func Int64(i int64) Value    { return Value{kind: TypeInt64, bits: uint64(i)} }
func Double(f float64) Value { return Value{kind: TypeDouble, bits: math.Float64bits(f)} }
func DateTime(t Ticks) Value { return Value{kind: TypeDateTime, bits: uint64(t)} }
func Binary(b []byte) Value  { return Value{kind: TypeBinary, text: string(b)} }
func GUID(s string) Value    { return Value{kind: TypeGUID, text: s} }
func Boolean(b bool) Value {
	if b {
		return Value{kind: TypeBoolean, bits: 1}
	}
	return Value{kind: TypeBoolean}
}

// Type returns the type of v.
func (v Value) Type() Type { return v.kind }

// Text returns the text of a string or a GUID, and "" for other types.
func (v Value) Text() string {
	if v.kind == TypeString || v.kind == TypeGUID {
		return v.text
	}
	return ""
}

// Boolean returns the value of a boolean, and false for other types.
func (v Value) Boolean() bool { return v.kind == TypeBoolean && v.bits != 0 }

// Int returns the value of an integer of either size, and 0 for other types.
func (v Value) Int() int64 {
	if v.kind == TypeInt32 || v.kind == TypeInt64 {
		return int64(v.bits)
	}
	return 0
}

// Float returns the value of a number of any type, and 0 for other types. Some clients
// write 21.0 as an integer.
func (v Value) Float() float64 {
	if v.kind == TypeDouble {
		return math.Float64frombits(v.bits)
	}
	return float64(v.Int())
}

// Ticks returns the value of a DateTime, and 0 for other types.
func (v Value) Ticks() Ticks {
	if v.kind == TypeDateTime {
		return Ticks(v.bits)
	}
	return 0
}

// Binary returns a copy of a binary, and nil for other types.
func (v Value) Binary() []byte {
	if v.kind == TypeBinary {
		return []byte(v.text)
	}
	return nil
}

// String formats v for people.
func (v Value) String() string {
	switch v.kind {
	case TypeBoolean:
		return strconv.FormatBool(v.Boolean())
	case TypeInt32, TypeInt64:
		return strconv.FormatInt(v.Int(), 10)
	case TypeDouble:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case TypeDateTime:
		return v.Ticks().Time().Format(dateTime)
	case TypeBinary:
		return strconv.Itoa(len(v.text)) + " bytes"
	}
	return v.text
}

// size returns the size of a value as Azure counts it.
func (v Value) size() int {
	switch v.kind {
	case TypeBoolean:
		return 1
	case TypeInt32:
		return 4
	case TypeString:
		return 4 + textSize(v.text)
	case TypeBinary:
		return 4 + len(v.text)
	case TypeGUID:
		return 16
	}
	return 8
}

// textSize returns the size of s in UTF-16, in bytes.
func textSize(s string) int {
	n := 0
	for _, r := range s {
		n += 2 * utf16Units(r)
	}
	return n
}
