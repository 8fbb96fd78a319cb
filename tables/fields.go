package tables

import (
	"fmt"
	"slices"
)

// Fields reads properties by type. An absent property reads as zero. Err returns the first
// error, for example a property of another type.
type Fields struct {
	entity *Entity
	err    error
}

// Fields reads e's properties.
func (e *Entity) Fields() *Fields { return &Fields{entity: e} }

// Err returns the first error, with the entity and the property.
func (f *Fields) Err() error { return f.err }

func (f *Fields) read(name string, types ...Type) Value {
	v := f.entity.Get(name)
	if v.kind == TypeNone || !f.check(name, v, types...) {
		return Value{}
	}
	return v
}

// check reports whether the value of a property has one of these types, and records an error if it has none.
func (f *Fields) check(name string, v Value, types ...Type) bool {
	if slices.Contains(types, v.kind) {
		return true
	}
	f.Fail("property "+name, fmt.Errorf("it is %s, not %s", v.kind, types[0]))
	return false
}

// Fail records an error of a reader's own checks, unless there was one before.
func (f *Fields) Fail(what string, err error) {
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("entity %s: %s: %w", f.entity.name(), what, err)
	}
}

// Readers of one type each. String also reads a GUID, and Int both sizes.

func (f *Fields) String(name string) string { return f.read(name, TypeString, TypeGUID).Text() }
func (f *Fields) Boolean(name string) bool  { return f.read(name, TypeBoolean).Boolean() }
func (f *Fields) Int(name string) int64     { return f.read(name, TypeInt64, TypeInt32).Int() }
func (f *Fields) Ticks(name string) Ticks   { return f.read(name, TypeDateTime).Ticks() }
func (f *Fields) Binary(name string) []byte { return f.read(name, TypeBinary).Binary() }

// Float reads a number of any type, because other clients write 21.0 as 21.
func (f *Fields) Float(name string) float64 {
	return f.read(name, TypeDouble, TypeInt32, TypeInt64).Float()
}
