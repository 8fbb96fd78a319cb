package readings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"furrow/cmd/internal/tabular"
	"furrow/jobs/archive/columnar"
	"furrow/worker/answers"
)

// Bytes are the bytes of a sensor, which the archive keeps.
type Bytes string

// bytesKind is the kind of a cell with bytes, as Base64.
const bytesKind jsontext.Kind = 'b'

// ofSensor begins the names of columns that hold the values of sensors, in what Furrow has written: a sensor may be
// called device.
const ofSensor = "values."

// ownShape recognizes what Furrow has written: queries, answers of /v1, and files of the archive.
func ownShape(in *tabular.Reader, has func(...string) bool, at map[string]tabular.Cell) (s shape, is bool) {
	s = shape{form: "readings of Furrow", own: true, device: "device", time: "row", key: "row"}
	switch {
	case in.Series != "" && has("device", columnar.Key, columnar.Doubtful):
		var all []columnar.NamedSeries
		if json.Unmarshal([]byte(in.Series), &all) != nil {
			return s, false
		}
		s.form, s.time, s.key, s.series = "archive of Furrow", columnar.Key, columnar.Key, map[string]columnar.Series{}
		for _, one := range all {
			s.series[one.Name] = one.Series
		}
		return s, true
	case has("device", "values", "row") && at["values"].Kind == '{':
	case has("device", "time", "sensor", "value", "row"):
		s.sensor = "sensor"
	default:
		return s, false
	}
	return s, isKey(at["row"].Text)
}

// own returns a record of what Furrow has written, with a column for each sensor or the long form.
func (s *source) own(r tabular.Record) (out tabular.Record, err error) {
	out = make(tabular.Record, len(s.names))
	exact := slices.Contains(s.Names, "text") // numbers and texts have a column each
	for i, c := range r {
		name := s.Names[i]
		series, is := s.shape.series[name]
		switch {
		case is:
			out, err = s.archived(out, series, c)
		case name == "values" && c.Kind == '{':
			out, err = s.members(out, ofSensor, c.Text, s.exactly)
		case s.shape.series == nil && name == "value" && s.Format == tabular.CSV:
			out = s.put(out, name, sent(unguarded(c), exact))
		case s.shape.series == nil && name == "text" && s.Format == tabular.CSV && answers.IsTruth(c.Text):
			out = s.put(out, name, tabular.Cell{Text: c.Text, Kind: jsontext.Kind(c.Text[0])})
		case s.Format == tabular.CSV:
			out = s.put(out, name, unguarded(c))
		default:
			out = s.put(out, name, c)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// archived sets the values of a column of the archive.
func (s *source) archived(out tabular.Record, series columnar.Series, c tabular.Cell) (tabular.Record, error) {
	switch {
	case c.Kind == 0 || series.About && series.Sensor != "site":
		return out, nil
	case series.About:
		return s.put(out, series.Sensor, c), nil
	case series.Kind == columnar.More:
		return s.members(out, ofSensor, c.Text, s.exactly)
	case series.Kind == columnar.Binary:
		c.Kind = bytesKind
	}
	return s.put(out, ofSensor+series.Sensor, c), nil
}

// exactly returns a member of an object as it is: an empty text is a value. Names of the archive's last column say what
// kind a value is of.
func (s *source) exactly(name string, v jsontext.Value) (string, tabular.Cell) {
	c := tabular.Cell{Text: string(v), Kind: v.Kind()}
	switch c.Kind {
	case 'n':
		return name, tabular.Cell{}
	case '"':
		_ = json.Unmarshal(v, &c.Text) // it is a text
	}
	if s.shape.series != nil {
		series := columnar.MoreSeries(name)
		if name = series.Sensor; series.Kind == columnar.Binary {
			c.Kind = bytesKind
		}
	}
	return name, c
}

// sent returns a cell of CSV as the value that it stands for. Where texts have a column of their own, it is a number.
func sent(c tabular.Cell, isNumber bool) tabular.Cell {
	f, err := strconv.ParseFloat(c.Text, 64)
	switch {
	case err == nil && (isNumber || answers.Number(f) == c.Text):
		c.Kind = '0'
	case answers.IsTruth(c.Text):
		c.Kind = jsontext.Kind(c.Text[0])
	}
	return c
}

// unguarded removes the apostrophe by which Furrow keeps a spreadsheet from running a text of CSV, and by which it
// tells a text from a boolean.
func unguarded(c tabular.Cell) tabular.Cell {
	if len(c.Text) > 1 && c.Text[0] == '\'' && (strings.ContainsRune("=+-@\t\r\n'", rune(c.Text[1])) ||
		answers.IsTruth(c.Text[1:])) {
		c.Text = c.Text[1:]
	}
	return c
}

// ownValue returns what a cell that Furrow has written means.
func ownValue(c tabular.Cell) any {
	switch c.Kind {
	case 0:
		return nil
	case '0':
		f, err := strconv.ParseFloat(c.Text, 64)
		if n, bad := strconv.ParseInt(c.Text, 10, 64); bad == nil && strconv.FormatFloat(f, 'f', -1, 64) != c.Text {
			return n
		}
		if err == nil {
			return f
		}
	case 't', 'f':
		return c.Kind == 't'
	case bytesKind:
		return Bytes(c.Text)
	}
	return c.Text
}

// isDoubtful reports whether Furrow says that the quality of a reading is bad: of all of it, or of some sensors.
func isDoubtful(c tabular.Cell) bool {
	return c.Kind == 't' || c.Text == "true" || c.Kind == '{' && strings.Contains(c.Text, "true")
}
