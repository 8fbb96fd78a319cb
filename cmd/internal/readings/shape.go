package readings

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"furrow/cmd/internal/tabular"
	"furrow/jobs/archive/columnar"
	"furrow/tables/schema"
)

// A shape is a form that a program is known to write. The zero shape is any file.
type shape struct {
	form   string // its name for people; empty: none that is known
	device string
	time   string
	sensor string                     // of the long form
	key    string                     // the row key of a reading
	own    bool                       // Furrow has written it
	series map[string]columnar.Series // of the columns of the archive
	// expand are objects whose members are columns, and the column whose value comes before their names.
	expand  map[string]string
	ignored map[string]string // columns that are left out, and why
}

// shapeOf recognizes a form by the columns of a file, and by its first record.
func shapeOf(in *tabular.Reader, first tabular.Record) shape {
	names := in.Names
	at := map[string]tabular.Cell{}
	for i, name := range names {
		at[name] = tabular.Cell{}
		if i < len(first) {
			at[name] = first[i]
		}
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if _, is := at[name]; !is {
				return false
			}
		}
		return true
	}
	if s, is := ownShape(in, has, at); is {
		return s
	}
	switch {
	case has("PartitionKey", "RowKey"):
		s := shape{form: "Azure Table", device: "PartitionKey", ignored: map[string]string{
			"Timestamp": "it is when the row was written", "odata.etag": "it is a version", "etag": "it is a version"}}
		if isKey(at["RowKey"].Text) {
			s.time, s.key = "RowKey", "RowKey"
		}
		return s
	case has("fields", "name", "tags", "timestamp") && at["fields"].Kind == '{' && at["tags"].Kind != '"':
		return shape{form: "Telegraf", time: "timestamp", expand: map[string]string{"fields": "name", "tags": ""},
			ignored: map[string]string{"name": "it comes before the names of the fields"}}
	case has("_time", "_value", "_field"):
		return shape{form: "InfluxDB", time: "_time", sensor: "field", ignored: influxColumns()}
	case has("_time", "result", "table"):
		return shape{form: "InfluxDB", time: "_time", ignored: influxColumns()}
	}
	for i := range names {
		if i >= len(first) || !isSeries(first[i]) {
			return shape{}
		}
	}
	if len(names) == 0 {
		return shape{}
	}
	return shape{form: thingsBoard, time: "ts", sensor: "sensor"}
}

const thingsBoard = "ThingsBoard"

// isSeries reports whether a value is what ThingsBoard answers of a sensor: a list of times and values.
func isSeries(c tabular.Cell) bool {
	return c.Kind == '[' && strings.HasPrefix(c.Text, `[{"ts":`) && strings.Contains(c.Text, `"value":`)
}

// A point is a value of such a list.
type point struct {
	TS    jsontext.Value `json:"ts"`
	Value jsontext.Value `json:"value"`
}

// points returns the values of all sensors as records of the long form.
func (s *source) points(r tabular.Record) (all []tabular.Record, err error) {
	for i, c := range r {
		var points []point
		if c.Kind == 0 {
			continue
		}
		if err := json.Unmarshal([]byte(c.Text), &points); err != nil {
			return nil, tabular.NewLineError(err)
		}
		for _, p := range points {
			all = append(all, tabular.Record{{Text: s.Names[i], Kind: '"'}, tabular.CellOf(p.TS), tabular.CellOf(p.Value)})
		}
	}
	return all, nil
}

func influxColumns() map[string]string {
	why := map[string]string{"_measurement": "a field has one measurement"}
	for _, name := range []string{"", "result", "table", "_start", "_stop"} {
		why[name] = "it describes the query"
	}
	return why
}

// isKey reports whether a text is a row key of a reading.
func isKey(text string) bool {
	if len(text) < 19 || text[0] != '0' {
		return false
	}
	_, err := schema.ParseRowKey(text)
	return err == nil
}

// A source reads the records of a file by the columns of its shape.
type source struct {
	*tabular.Reader
	shape shape
	names []string
	index map[string]int
	ahead []tabular.Record // of ThingsBoard
}

// firstShape recognizes the form of a file by its first record.
func firstShape(in *tabular.Reader) shape {
	for {
		first, err := in.Next()
		if _, wrong := errors.AsType[*tabular.LineError](err); !wrong || len(in.Names) > 0 {
			return shapeOf(in, first)
		}
	}
}

func newSource(in *tabular.Reader, form shape) *source {
	s := &source{Reader: in, shape: form, index: map[string]int{}}
	if form.form == thingsBoard {
		s.names = []string{"sensor", "ts", "value"}
	}
	return s
}

// plain reports whether the columns are those of the file.
func (s *source) plain() bool {
	return s.shape.expand == nil && s.shape.form != "Azure Table" && s.shape.form != thingsBoard && !s.shape.own
}

// columns returns the names of the columns so far.
func (s *source) columns() []string {
	if s.plain() {
		return s.Names
	}
	return s.names
}

func (s *source) next() (r tabular.Record, err error) {
	if len(s.ahead) > 0 {
		r, s.ahead = s.ahead[0], s.ahead[1:]
		return r, nil
	}
	r, err = s.Reader.Next()
	switch {
	case err != nil || s.plain():
		return r, err
	case s.shape.form == thingsBoard:
		if s.ahead, err = s.points(r); err != nil {
			return nil, err
		}
		return s.next()
	}
	return s.shaped(r)
}

// shaped returns a record with the members of objects as columns, and with the types that other columns name.
func (s *source) shaped(r tabular.Record) (out tabular.Record, err error) {
	if s.shape.own {
		return s.own(r)
	}
	out = make(tabular.Record, len(s.names))
	before := ""
	cells := map[string]tabular.Cell{}
	for i, c := range r {
		cells[s.Names[i]] = c
	}
	for i, c := range r {
		name := s.Names[i]
		prefix, expand := s.shape.expand[name]
		if before = ""; prefix != "" {
			before = cells[prefix].Text + "_"
		}
		switch {
		case expand && c.Kind == '{':
			if out, err = s.members(out, before, c.Text, plainly); err != nil {
				return nil, err
			}
			continue
		case strings.HasSuffix(name, "@type") || strings.HasSuffix(name, "@odata.type"):
			continue
		}
		if of := cmp.Or(cells[name+"@type"].Text, cells[name+"@odata.type"].Text); of != "" && c.Kind == '"' {
			c.Kind = edm(of, c)
		}
		out = s.put(out, name, c)
	}
	return out, nil
}

func plainly(name string, v jsontext.Value) (string, tabular.Cell) { return name, tabular.CellOf(v) }

// members sets the members of an object, as cell has them.
func (s *source) members(
	out tabular.Record, before, text string, cell func(string, jsontext.Value) (string, tabular.Cell),
) (tabular.Record, error) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	if _, err := d.ReadToken(); err != nil {
		return nil, tabular.NewLineError(err)
	}
	for d.PeekKind() == '"' {
		var name string
		var value jsontext.Value
		if err := json.UnmarshalDecode(d, &name); err != nil {
			return nil, tabular.NewLineError(err)
		}
		if err := json.UnmarshalDecode(d, &value); err != nil {
			return nil, tabular.NewLineError(err)
		}
		name, c := cell(name, value)
		out = s.put(out, before+name, c)
	}
	return out, nil
}

func (s *source) put(out tabular.Record, name string, c tabular.Cell) tabular.Record {
	i, known := s.index[name]
	if !known {
		i = len(s.names)
		s.index[name], s.names = i, append(s.names, name)
	}
	for len(out) <= i {
		out = append(out, tabular.Cell{})
	}
	out[i] = c
	return out
}

// edm returns the kind of a text of CSV whose type another column names.
func edm(of string, c tabular.Cell) jsontext.Kind {
	switch of {
	case "Edm.Double", "Edm.Int32", "Edm.Int64":
		if isMissing(c.Text) { // the service writes NaN
			return 0
		}
		return '0'
	case "Edm.Boolean":
		if b, ok := boolean(c.Text); ok && b {
			return 't'
		} else if ok {
			return 'f'
		}
	}
	return '"'
}
