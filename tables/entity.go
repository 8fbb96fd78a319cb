package tables

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// An ETag identifies a version of an entity.
type ETag = azcore.ETag

// AnyETag as If-Match means any version.
const AnyETag = azcore.ETagAny

// Limits of an entity.
// learn.microsoft.com: "Understanding the Table service data model".
const (
	MaxEntity     = 1 << 20  // bytes
	MaxProperty   = 64 << 10 // bytes of a string (in UTF-16) or of a binary
	MaxProperties = 252      // besides the keys and the timestamp
	maxPropName   = 255      // characters
)

// A Property is a named value of an entity.
type Property struct {
	Name  string
	Value Value
}

// An Entity is a row of a table. Properties are in the order in which they were set or
// stored.
type Entity struct {
	PartitionKey string
	RowKey       string
	ETag         ETag  // set by storage; ignored in writes
	Timestamp    Ticks // of the last write, set by storage; ignored in writes
	Properties   []Property
}

// Get returns the value of a property, or the zero Value if it is absent.
func (e *Entity) Get(name string) Value {
	for i := range e.Properties {
		if e.Properties[i].Name == name {
			return e.Properties[i].Value
		}
	}
	return Value{}
}

// Set sets a property. The zero Value removes it.
func (e *Entity) Set(name string, v Value) {
	i := slices.IndexFunc(e.Properties, func(p Property) bool { return p.Name == name })
	switch {
	case i < 0 && v.kind != TypeNone:
		e.Properties = append(e.Properties, Property{name, v})
	case i >= 0 && v.kind != TypeNone:
		e.Properties[i].Value = v
	case i >= 0:
		e.Properties = slices.Delete(e.Properties, i, i+1)
	}
}

// Size returns the size that Azure limits to MaxEntity: 4 bytes, 2 for each character of
// the keys and names, and 8 and the size of the value for each property.
func (e *Entity) Size() int {
	n := 4 + textSize(e.PartitionKey) + textSize(e.RowKey)
	for _, p := range e.Properties {
		n += 8 + textSize(p.Name) + p.Value.size()
	}
	return n
}

// Check returns why storage would refuse e, or nil.
func (e *Entity) Check() error {
	if err := CheckKey(e.PartitionKey); err != nil {
		return fmt.Errorf("partition %w", err)
	}
	if err := CheckKey(e.RowKey); err != nil {
		return fmt.Errorf("row %w", err)
	}
	if len(e.Properties) > MaxProperties {
		return fmt.Errorf("entity %s has %d properties; at most %d are allowed", e.name(), len(e.Properties), MaxProperties)
	}
	seen := make(map[string]bool, len(e.Properties))
	for _, p := range e.Properties {
		if err := p.check(); err != nil {
			return fmt.Errorf("entity %s: %w", e.name(), err)
		}
		if seen[p.Name] {
			return fmt.Errorf("entity %s: property %s is given twice", e.name(), p.Name)
		}
		seen[p.Name] = true
	}
	if n := e.Size(); n > MaxEntity {
		return fmt.Errorf("entity %s has %d bytes; at most %d are allowed", e.name(), n, MaxEntity)
	}
	return nil
}

func (e *Entity) name() string { return name(e.PartitionKey, e.RowKey) }

func name(pk, rk string) string { return Quote(pk) + " " + Quote(rk) }

// CheckName returns why a property cannot have a name, or nil. Names are identifiers of
// C#: letters, digits and _, and combining marks after a letter, as in a decomposed é.
func CheckName(name string) error {
	if name == "" || len(name) > maxPropName {
		return fmt.Errorf("property %s: a name has 1 to %d characters", Quote(name), maxPropName)
	}
	for i, r := range name {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			continue
		}
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return fmt.Errorf("property %s: character %q is not allowed; use letters, digits and _, not a digit first",
				Quote(name), r)
		}
	}
	if isSystem(name) {
		return fmt.Errorf("property %s belongs to storage", name)
	}
	return nil
}

func (p Property) check() error {
	if err := CheckName(p.Name); err != nil {
		return err
	}
	switch {
	case p.Value.kind == TypeString && !utf8.ValidString(p.Value.text):
		return fmt.Errorf("property %s: text is not UTF-8", p.Name)
	case (p.Value.kind == TypeString || p.Value.kind == TypeBinary) && p.Value.size()-4 > MaxProperty:
		return fmt.Errorf("property %s has %d bytes; at most %d are allowed", p.Name, p.Value.size()-4, MaxProperty)
	case p.Value.kind == TypeDateTime && (p.Value.Ticks() < minDateTime || p.Value.Ticks() > MaxTicks):
		return fmt.Errorf("property %s: a DateTime lies between 1601 and 9999, not at tick %d", p.Name, int64(p.Value.bits))
	}
	return nil
}

// minDateTime is 1601-01-01, the earliest Edm.DateTime that storage accepts.
const minDateTime Ticks = 504911232000000000

func isSystem(name string) bool {
	return name == "PartitionKey" || name == "RowKey" || name == "Timestamp"
}
