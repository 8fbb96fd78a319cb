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
	key   *cell         // the sensor's, among them; nil: no part is a BySensor
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

// A part is a list with an entry for each line, or a BySensor: the first one of a row has a line for each of its
// sensors, and the others add to these.
type part struct {
	field int
	zero  reflect.Value // of sensors that it does not have
	next  int           // entry of the others: all before are of sensors that the row's lines have passed
}

// The fields of OfSensor.
const (
	sensorField = iota
	valueField
)

// bySensor is what each BySensor is.
type bySensor interface{ ValueType() reflect.Type }

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
	truth // a flag among values of any kind
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
	count  int64 // or 1 for a flag or truth that is set
	time   time.Time
	labels map[string]string
}

// columnsOf returns the columns of rows like this one. For people, numbers and texts share a column.
func columnsOf(row any, people bool) *columns {
	of := reflect.TypeOf(row)
	c := &columns{row: reflect.New(of).Elem()}
	c.add(of, column{part: none}, people)
	c.cells = make([]cell, len(c.all))
	if at := slices.IndexFunc(c.all, func(c column) bool { return c.part == theKey }); at >= 0 {
		c.key = &c.cells[at]
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
	of := f.Type.Elem()
	if sensors, is := reflect.Zero(f.Type).Interface().(bySensor); is {
		of = sensors.ValueType()
		if len(c.parts) == 0 {
			c.all = append(c.all, column{name: key, part: theKey})
		}
	}
	own := column{part: len(c.parts), optional: len(c.parts) > 0}
	c.parts = append(c.parts, part{field: f.Index[0], zero: reflect.Zero(of)})
	c.addField(of, f.Tag.Get("column"), own, people)
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
	if c.key == nil {
		return c.listed(first, line)
	}
	for n := range c.parts {
		c.parts[n].next = 0
	}
	for i := range first.Len() {
		entry := first.Index(i)
		sensor := entry.Field(sensorField).String()
		*c.key = cell{has: true, text: sensor}
		c.fill(0, entry.Field(valueField))
		for n := 1; n < len(c.parts); n++ {
			c.fill(n, c.parts[n].value(c.row, sensor))
		}
		if err := line(c.cells); err != nil {
			return err
		}
	}
	return nil
}

// value returns what a BySensor has of a sensor, or a zero value. It is asked for the sensors in their order.
func (p *part) value(row reflect.Value, sensor string) reflect.Value {
	for all := row.Field(p.field); p.next < all.Len(); p.next++ {
		entry := all.Index(p.next)
		switch name := entry.Field(sensorField).String(); {
		case name == sensor:
			return entry.Field(valueField)
		case name > sensor:
			return p.zero
		}
	}
	return p.zero
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
		out.kind = truth
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
