package answers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// columns are those of a type of rows, and read the cells of one line after the other.
type columns struct {
	all   []column
	parts []part
	row   reflect.Value // the row whose lines are read; it is addressable, which spares copies
	cells []cell        // of the line
	key   *cell         // among them; nil: no part is a map
	// Of the first part of the row: its keys in order, and its values.
	keys     []partKey
	entryKey reflect.Value
	entries  reflect.MapIter
	values   reflect.Value
}

// A column is at the same place of each line.
type column struct {
	name     string
	kind     kind
	part     int   // whose entries have it, or none or theKey
	path     []int // to its field
	exact    bool
	optional bool
	any      bool // its values have several types
	only     choice
}

// A part is a map or a list with an entry for each line.
type part struct {
	field int
	of    reflect.Type  // of the map or list
	entry reflect.Value // a place for one of its values
}

// A partKey is a key of a map, and the place of its value.
type partKey struct {
	name string
	at   int
}

// Instead of a part.
const (
	none   = -1 // the row itself
	theKey = -2 // of an entry
)

// A kind is what a cell holds.
type kind uint8

const (
	text kind = iota
	number
	count
	moment
	flag
	labels
)

// A choice is which values of an any a column has.
type choice uint8

const (
	allValues choice = iota
	numbersOnly
	textsOnly
)

// A cell is a value of a line. The zero cell is empty.
type cell struct {
	has    bool
	exact  bool // of a moment
	kind   kind
	text   string
	number float64
	count  int64 // or 1 for a flag that is set
	time   time.Time
	labels map[string]string
}

// columnsOf returns the columns of rows like this one. For people, numbers and texts share a column.
func columnsOf(row any, people bool) *columns {
	of := reflect.TypeOf(row)
	c := &columns{row: reflect.New(of).Elem(), entryKey: reflect.New(reflect.TypeFor[string]()).Elem()}
	c.add(of, column{part: none}, people)
	c.cells = make([]cell, len(c.all))
	if at := slices.IndexFunc(c.all, func(c column) bool { return c.part == theKey }); at >= 0 {
		c.key = &c.cells[at]
	}
	if len(c.parts) > 0 {
		c.values = reflect.MakeSlice(reflect.SliceOf(c.parts[0].of.Elem()), 8, 8)
	}
	return c
}

// add adds the columns of a struct. Its place is that of a column in it: the beginning of the name, part and path.
func (c *columns) add(of reflect.Type, place column, people bool) {
	for i := range of.NumField() {
		f, own := of.Field(i), place
		own.path = append(slices.Clone(place.path), i)
		tag, tagged := f.Tag.Lookup("column")
		if key, is := f.Tag.Lookup("each"); is {
			c.addPart(f, key, people)
			continue
		}
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		own.optional = strings.Contains(options, "omit")
		if people && f.Tag.Get("people") == "-" {
			continue
		}
		if tagged || f.Anonymous {
			c.addField(f.Type, tag, own, people)
		}
	}
}

// addField adds the columns of a field with this tag.
func (c *columns) addField(of reflect.Type, tag string, own column, people bool) {
	if own.any = of.Kind() == reflect.Interface; own.any || of.Kind() == reflect.Pointer {
		own.optional = false // it is nil where it is absent
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	name, option, _ := strings.Cut(tag, ",")
	own.name += name
	switch {
	case of == reflect.TypeFor[time.Time]():
		own.kind, own.exact = moment, option == "exact"
	case of.Kind() == reflect.Struct:
		c.add(of, own, people)
		return
	case own.any && option != "" && !people:
		own.kind, own.only = number, numbersOnly
		c.all = append(c.all, own)
		own.name, own.kind, own.only = option, text, textsOnly
	default:
		own.kind = kindOf(of)
	}
	c.all = append(c.all, own)
}

func (c *columns) addPart(f reflect.StructField, key string, people bool) {
	if f.Type.Kind() == reflect.Map && len(c.parts) == 0 {
		c.all = append(c.all, column{name: key, part: theKey})
	}
	own := column{part: len(c.parts), optional: len(c.parts) > 0}
	c.parts = append(c.parts, part{f.Index[0], f.Type, reflect.New(f.Type.Elem()).Elem()})
	c.addField(f.Type.Elem(), f.Tag.Get("column"), own, people)
	named := func(name string) int { return slices.IndexFunc(c.all, func(c column) bool { return c.name == name }) }
	if at, behind := named(key), named(f.Tag.Get("behind")); behind > at {
		moved := c.all[at]
		c.all = slices.Insert(slices.Delete(c.all, at, at+1), behind, moved)
	}
}

func kindOf(of reflect.Type) kind {
	switch of.Kind() {
	case reflect.Bool:
		return flag
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return count
	case reflect.Float32, reflect.Float64:
		return number
	case reflect.Map:
		return labels
	case reflect.String, reflect.Interface:
		return text
	}
	panic(fmt.Sprintf("answers: no column has values of type %s", of))
}

// lines calls line for each line of a row. The cells are valid during the call.
func (c *columns) lines(row any, line func([]cell) error) error {
	c.row.Set(reflect.ValueOf(row))
	c.fill(none, c.row)
	if len(c.parts) == 0 {
		return line(c.cells)
	}
	first := c.row.Field(c.parts[0].field)
	if first.Kind() == reflect.Slice {
		return c.listed(first, line)
	}
	c.take(first)
	for _, key := range c.keys {
		c.fill(0, c.values.Index(key.at))
		*c.key = cell{has: true, text: key.name}
		for n, p := range c.parts[1:] {
			c.fill(n+1, p.value(c.row.Field(p.field), key.name))
		}
		if err := line(c.cells); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of a key in the map of a part, or the zero value. The types of answers spare an allocation.
func (p *part) value(m reflect.Value, key string) reflect.Value {
	switch all := m.Interface().(type) {
	case map[string]string:
		p.entry.SetString(all[key])
	case map[string]bool:
		p.entry.SetBool(all[key])
	default:
		p.entry.SetZero()
		if found := m.MapIndex(reflect.ValueOf(key)); found.IsValid() {
			p.entry.Set(found)
		}
	}
	return p.entry
}

// listed calls line for each element of a list, and once where there is none.
func (c *columns) listed(list reflect.Value, line func([]cell) error) error {
	if list.Len() == 0 {
		c.fill(0, reflect.Value{})
		return line(c.cells)
	}
	for i := range list.Len() {
		c.fill(0, list.Index(i))
		if err := line(c.cells); err != nil {
			return err
		}
	}
	return nil
}

// take copies the keys and values of a map.
func (c *columns) take(m reflect.Value) {
	c.keys = c.keys[:0]
	if n := m.Len(); n > c.values.Len() {
		c.values = reflect.MakeSlice(c.values.Type(), n, n)
	}
	for c.entries.Reset(m); c.entries.Next(); {
		at := len(c.keys)
		c.values.Index(at).SetIterValue(&c.entries)
		c.entryKey.SetIterKey(&c.entries)
		c.keys = append(c.keys, partKey{c.entryKey.String(), at})
	}
	slices.SortFunc(c.keys, func(a, b partKey) int { return strings.Compare(a.name, b.name) })
}

// fill reads the cells of a part from one of its entries, or those of the row.
func (c *columns) fill(part int, from reflect.Value) {
	for i := range c.all {
		if own := &c.all[i]; own.part == part {
			own.fill(&c.cells[i], from)
		}
	}
}

// fill reads a column's cell.
func (c *column) fill(out *cell, v reflect.Value) {
	*out = cell{}
	for _, i := range c.path {
		if v = pointed(v); !v.IsValid() {
			return
		}
		v = v.Field(i)
	}
	if v = pointed(v); !v.IsValid() || c.optional && v.Kind() != reflect.Bool && v.IsZero() {
		return
	}
	out.set(v)
	if c.any && out.kind == flag {
		out.kind, out.text = text, out.csv()
	}
	switch out.exact = c.exact; {
	case c.only == numbersOnly && out.kind != number && out.kind != count,
		c.only == textsOnly && (out.kind == number || out.kind == count):
		*out = cell{}
	case c.kind == number && out.kind == count:
		out.number = float64(out.count)
	}
}

// pointed returns what a value points to, or the zero Value.
func pointed(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// set makes an empty cell that of a value.
func (c *cell) set(v reflect.Value) {
	c.has = true
	switch v.Kind() {
	case reflect.Bool:
		if c.kind = flag; v.Bool() {
			c.count = 1
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.kind, c.count = count, v.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.kind, c.count = count, int64(v.Uint())
	case reflect.Float32, reflect.Float64:
		c.kind, c.number = number, v.Float()
	case reflect.Map:
		c.kind, c.labels = labels, v.Interface().(map[string]string)
		c.has = len(c.labels) > 0
	case reflect.Struct:
		c.kind, c.time = moment, timeOf(v)
		c.has = !c.time.IsZero()
	case reflect.Slice: // JSON
		c.text = string(v.Bytes())
	default:
		c.text = v.String()
	}
}

func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}
