package tables

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

func (d *decoder) entity() (e Entity, err error) {
	if err := d.expect('{'); err != nil {
		return e, err
	}
	d.row, d.types, d.open, d.nth = d.row[:0], d.types[:0], 0, 0
	d.etag, d.rowKey = d.etag[:0], d.rowKey[:0]
	for d.json.PeekKind() != '}' {
		if err := d.decode(&e); err != nil {
			return e, err
		}
	}
	if d.open > 0 {
		d.row = slices.DeleteFunc(d.row, func(p Property) bool { return p.Value.kind == TypeNone })
	}
	e.Properties = d.keep()
	d.identify(&e)
	return e, d.expect('}')
}

// identify sets the ETag and the row key, in one piece of memory.
func (d *decoder) identify(e *Entity) {
	d.text = append(append(d.text[:0], d.etag...), d.rowKey...)
	both, n := string(d.text), len(d.etag)
	e.ETag, e.RowKey = ETag(both[:n]), both[n:]
}

// maxRoom is how many rows share memory at most: whoever keeps one of them keeps the others' values.
const maxRoom = 16

// keep returns a copy of the row's properties.
func (d *decoder) keep() []Property {
	if len(d.row) == 0 {
		return nil
	}
	if cap(d.room)-len(d.room) < len(d.row) {
		d.room = make([]Property, 0, d.rows*len(d.row))
		d.rows = min(2*d.rows, maxRoom)
	}
	begin := len(d.room)
	d.room = append(d.room, d.row...)
	return d.room[begin:len(d.room):len(d.room)]
}

// decode decodes one member of a row's object.
func (d *decoder) decode(e *Entity) error {
	name, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	c, err := d.column(name)
	if err != nil {
		return err
	}
	value, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	switch c.role {
	case roleNothing:
	case roleProperty:
		err = d.value(c.name, value)
	case roleType:
		err = d.annotate(c.name, value)
	default:
		err = d.system(e, c.role, value)
	}
	if err != nil {
		d.identify(e)
		return fmt.Errorf("entity %s: %s: %w", e.name(), Quote(c.name), err)
	}
	return nil
}

// column returns the column with a quoted name.
func (d *decoder) column(quoted []byte) (column, error) {
	n := d.nth
	d.nth++
	if n < len(d.order) && d.order[n].quoted == string(quoted) {
		return d.order[n].column, nil
	}
	m, err := d.member(quoted)
	if err == nil {
		d.order = append(d.order[:min(n, len(d.order))], m)
	}
	return m.column, err
}

func (d *decoder) member(quoted []byte) (member, error) {
	if m, ok := d.members[string(quoted)]; ok {
		return m, nil
	}
	text, err := unquote(nil, quoted)
	if err != nil {
		return member{}, err
	}
	c := column{name: string(text)}
	base, annotated := strings.CutSuffix(c.name, annotation)
	switch {
	case c.name == "PartitionKey":
		c.role = rolePartitionKey
	case c.name == "RowKey":
		c.role = roleRowKey
	case c.name == "Timestamp":
		c.role = roleTimestamp
	case c.name == "odata.etag":
		c.role = roleETag
	case annotated && !isSystem(base):
		c.role, c.name = roleType, base
	case strings.HasPrefix(c.name, "odata.") || strings.Contains(c.name, "@"):
		c.role = roleNothing
	}
	m := member{string(quoted), c}
	d.members[m.quoted] = m
	return m, nil
}

func (d *decoder) system(e *Entity, r role, raw []byte) error {
	text, err := unquote(d.text[:0], raw)
	if err != nil {
		return err
	}
	switch r {
	case rolePartitionKey:
		key, ok := d.keys[string(text)]
		if !ok {
			key = string(text)
			d.keys[key] = key
		}
		e.PartitionKey = key
	case roleRowKey:
		d.rowKey = append(d.rowKey[:0], text...)
	case roleETag:
		d.etag, d.text = append(d.etag[:0], text...), text // always has escapes
	case roleTimestamp:
		e.Timestamp, err = parseDateTime(text)
	}
	return err
}

// find returns the index of a property in the row, or -1. It starts at the end, because
// annotations are next to their values.
func (d *decoder) find(name string) int {
	for i := len(d.row) - 1; i >= 0; i-- {
		if d.row[i].Name == name {
			return i
		}
	}
	return -1
}

func (d *decoder) value(name string, raw []byte) (err error) {
	i, t := -1, TypeNone
	if d.open > 0 {
		if i = d.find(name); i >= 0 && d.row[i].Value.kind == TypeNone {
			t = d.types[i]
		} else {
			i = -1
		}
	}
	v, err := parseValue(raw, t)
	if err != nil {
		v, err = misfit(raw, err)
	}
	if err != nil || v.kind == TypeNone {
		return err
	}
	if i < 0 {
		d.row, d.types = append(d.row, Property{name, v}), append(d.types, t)
		return nil
	}
	d.row[i].Value = v
	d.open--
	return nil
}

func (d *decoder) annotate(name string, raw []byte) error {
	t := typeNamed(bytes.Trim(raw, `"`)) // their names have no escapes
	if t == TypeNone {
		_, err := unquote(nil, raw)
		return err // or nil: a type of a newer service
	}
	i := d.find(name)
	if i < 0 {
		d.row, d.types = append(d.row, Property{Name: name}), append(d.types, t)
		d.open++
		return nil
	}
	if v, err := d.row[i].Value.as(t); err == nil {
		d.row[i].Value = v
	} else if v = d.row[i].Value; v.kind != TypeString {
		d.row[i].Value = String(v.String())
	}
	return nil
}

// misfit returns a value that does not fit its type as text. Some servers store such
// values, and one of them must not make a page unreadable.
func misfit(raw []byte, why error) (Value, error) {
	switch raw[0] {
	case '{', '[':
		return Value{}, why
	case '"':
		text, err := unquote(nil, raw)
		return String(string(text)), err
	}
	return String(string(raw)), nil
}
