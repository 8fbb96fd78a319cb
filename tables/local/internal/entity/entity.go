// Package entity implements table rows: typed properties, their encoding in storage,
// and their JSON at each metadata level.
package entity

import (
	"encoding/binary"
	"math"
	"slices"

	"furrow/tables/local/internal/wire"
)

// A Type is an EDM primitive type of the Table service.
type Type byte

const (
	Null     Type = iota // an absent property, in requests and in answers to $select
	String               // Raw is UTF-8
	Int32                // Num
	Int64                // Num
	Double               // Num is its IEEE 754 bits
	Boolean              // Num is 0 or 1
	DateTime             // Num is ticks since 0001-01-01 UTC
	GUID                 // Raw is 16 bytes, in the order of the text form
	Binary               // Raw
)

// names are the EDM names, as in odata.type annotations.
var names = [...]string{"Null", "Edm.String", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean",
	"Edm.DateTime", "Edm.Guid", "Edm.Binary"}

func (t Type) String() string { return names[t] }

// A Value is the value of a property, in Num or Raw depending on its type.
type Value struct {
	Type Type
	Num  int64
	Raw  []byte
}

// Float returns the value of a Double.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.Num)) }

// A Property is a named value.
type Property struct {
	Name  string
	Value Value
}

// An Entity is a row without its keys, which are in the key of its record.
type Entity struct {
	Timestamp  int64 // ticks; the ETag is made of it
	Properties []Property
}

// Append appends e's encoding in storage: a version, the timestamp, and the name,
// type and value of each property.
func (e *Entity) Append(dst []byte) []byte {
	size := 9
	for _, p := range e.Properties {
		size += len(p.Name) + len(p.Value.Raw) + 13 // the name's length, the type, and the value or its length
	}
	dst = slices.Grow(dst, size)
	dst = append(dst, 1)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Timestamp))
	for _, p := range e.Properties {
		dst = binary.AppendUvarint(dst, uint64(len(p.Name)))
		dst = append(dst, p.Name...)
		dst = append(dst, byte(p.Value.Type))
		switch p.Value.Type {
		case String, GUID, Binary:
			dst = binary.AppendUvarint(dst, uint64(len(p.Value.Raw)))
			dst = append(dst, p.Value.Raw...)
		case Double:
			dst = binary.BigEndian.AppendUint64(dst, uint64(p.Value.Num))
		default:
			dst = binary.AppendVarint(dst, p.Value.Num)
		}
	}
	return dst
}

// Limits of an entity (learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model).
const (
	MaxProperties = 252                // in addition to PartitionKey, RowKey and Timestamp
	MaxName       = 255                // UTF-16 units of a property's name
	MaxValue      = 64 << 10           // bytes of a binary value, or of a string as UTF-16
	MaxSize       = 1 << 20            // bytes of an entity, as the service counts them
	MaxKey        = 1024               // UTF-16 units of a partition or row key
	MinDateTime   = 504911232000000000 // ticks of 1601-01-01, the earliest Edm.DateTime
)

// Check returns an error if the entity exceeds a limit.
func (e *Entity) Check(partition, row string) error {
	if len(e.Properties) > MaxProperties {
		return tooMany()
	}
	size := 4 + 2*(units(partition)+units(row))
	for _, p := range e.Properties {
		n, err := p.size()
		if err != nil {
			return err
		}
		size += n
	}
	if size > MaxSize {
		return bad("EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).")
	}
	return nil
}

// size returns how many bytes the service counts for a property.
func (p *Property) size() (int, error) {
	name := units(p.Name)
	if name > MaxName {
		return 0, bad("PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).")
	}
	size := 8 + 2*name
	value := 0
	switch p.Value.Type {
	case String:
		value = 2 * unitsOf(p.Value.Raw)
		size += 4 + value
	case Binary:
		value = len(p.Value.Raw)
		size += 4 + value
	case GUID:
		size += 16
	case Int32:
		size += 4
	case Boolean:
		size++
	default:
		size += 8
	}
	if value > MaxValue {
		return 0, bad("PropertyValueTooLarge", "The property value exceeds the maximum allowed size (64KB). "+
			"If the property value is a string, it is UTF-16 encoded "+
			"and the maximum number of characters should be 32K or less.")
	}
	return size, nil
}

// units counts UTF-16 code units, as the service does.
func units(s string) int {
	n := 0
	for _, c := range s {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}

// unitsOf is units for valid UTF-8: each character counts at its first byte, one beyond U+FFFF twice.
func unitsOf(b []byte) int {
	n := 0
	for _, c := range b {
		if c&0xc0 != 0x80 {
			n++
		}
		if c >= 0xf0 {
			n++
		}
	}
	return n
}

// CheckKey returns an error for a partition or row key that the service refuses.
func CheckKey(name, key string) error {
	if units(key) > MaxKey {
		return bad("KeyValueTooLarge", "The "+name+" exceeds the maximum allowed key size (1024 characters).")
	}
	for _, c := range key {
		if c < 0x20 || c >= 0x7f && c <= 0x9f || c == '/' || c == '\\' || c == '#' || c == '?' {
			return bad("OutOfRangeInput", "The '"+name+"' parameter of value '"+key+"' is out of range.")
		}
	}
	return nil
}

func tooMany() error {
	return bad("TooManyProperties", "The entity contains more properties than allowed. "+
		"Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.")
}

func bad(code, message string) *wire.Error {
	return &wire.Error{Status: 400, Code: code, Message: message}
}

// Invalid is the error for invalid input.
func Invalid(message string) *wire.Error { return bad("InvalidInput", message) }
