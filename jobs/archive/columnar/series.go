package columnar

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A Kind is what kind of values a column of a sensor has. A sensor may have one of each.
type Kind uint8

const (
	Double Kind = iota // numbers, booleans and texts that are numbers, and integers that a double equals
	Long               // other integers
	Text               // states
	Binary             // bytes
	More               // the values of all sensors that have no column of their own, as a JSON object
)

// A Series is a column of a file of readings: the values of a sensor of one kind, or, where About, a property of the
// device.
type Series struct {
	Sensor string `json:"sensor"`
	Kind   Kind   `json:"kind,omitzero"`
	About  bool   `json:"about,omitzero"`
}

// A NamedSeries is a series and the name of its column.
type NamedSeries struct {
	Series
	Name string `json:"name"`
}

// SeriesKey is the metadata of a file with its NamedSeries, as JSON: a file is understood by itself.
const SeriesKey = "furrow.series"

// SeriesOf returns the series that a sample has values of.
func SeriesOf(s *fold.Sample) (all []Series) {
	for i := range s.Values {
		if one, is := seriesOf(s, &s.Values[i]); is {
			all = append(all, one)
		}
	}
	for _, x := range s.Exact {
		all = append(all, exactSeries(x))
	}
	return all
}

// seriesOf returns the series of a value, unless an exact one takes its place.
func seriesOf(s *fold.Sample, v *fold.SensorValue) (one Series, is bool) {
	if v.Is == fold.State {
		return Series{Sensor: v.Sensor, Kind: Text}, true
	}
	exact := slices.ContainsFunc(s.Exact, func(x fold.ExactValue) bool { return x.Sensor == v.Sensor })
	return Series{Sensor: v.Sensor}, !exact
}

func exactSeries(x fold.ExactValue) Series {
	if x.Value.Type() == tables.TypeBinary {
		return Series{Sensor: x.Sensor, Kind: Binary}
	}
	return Series{Sensor: x.Sensor, Kind: Long}
}

// Names of the columns that every file of readings begins with, beside Device, Time and Key.
const Doubtful = "doubtful"

// node returns the type of the column. Texts repeat, and so do most measured numbers, which have few digits; but
// thousands of dictionaries take too much memory.
func (s Series) node(many bool) parquet.Node {
	leaf := parquet.Leaf(parquet.DoubleType)
	switch s.Kind {
	case Long:
		leaf = parquet.Leaf(parquet.Int64Type)
	case Text, More:
		leaf = parquet.String()
	case Binary:
		leaf = parquet.Leaf(parquet.ByteArrayType)
	}
	if many || s.Kind == Binary || s.Kind == More {
		return parquet.Optional(parquet.Encoded(leaf, &parquet.Plain))
	}
	return parquet.Optional(parquet.Encoded(leaf, &parquet.RLEDictionary))
}

// Range is the least and the greatest of what a column has.
type Range[T any] struct{ Min, Max T }

// A ReadingsWriter writes a file of a table of readings: a row for each, with a column for each series, whatever the
// file has of it. Readings come in the order of devices and row keys. It holds at most one row group.
type ReadingsWriter struct {
	Rows    int64
	Devices Range[string]
	Keys    Range[string]
	Times   Range[time.Time]

	rows rowWriter
	at   map[Series]int
	more []moreValue // of the reading
}

// first is the number of columns before those of series.
const firstSeries = 4

// defaultIndexed is how many bytes of the least and of the greatest value the index of pages has. Bytes have all of
// theirs: the library shortens a greatest value that begins with bytes of 255 to a smaller one, by which readers pass
// over the page. No text has such a byte.
const defaultIndexed = parquet.DefaultColumnIndexSizeLimit

// NewReadings returns a writer of a file with columns. Their names are different.
func NewReadings(to io.Writer, series []NamedSeries) *ReadingsWriter {
	many := len(series) > maxDictionaries
	nodes := []parquet.Node{
		parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.Plain), // others read differences wrongly
		parquet.Encoded(parquet.String(), &parquet.DeltaByteArray),
		parquet.Optional(parquet.Leaf(parquet.BooleanType)),
	}
	names := []string{Device, Time, Key, Doubtful}
	w := &ReadingsWriter{at: map[Series]int{}}
	indexed := map[string]int{}
	for i, s := range series {
		if s.Kind == Binary {
			indexed[s.Name] = tables.MaxProperty
		}
		nodes, names = append(nodes, s.node(many)), append(names, s.Name)
		w.at[s.Series] = firstSeries + i
	}
	told, _ := json.Marshal(series, json.Deterministic(true)) // of texts and numbers
	w.rows = newRowWriter(to, names, nodes, parquet.KeyValueMetadata(SeriesKey, string(told)),
		parquet.ColumnIndexSizeLimit(func(column []string) int { return cmp.Or(indexed[column[0]], defaultIndexed) }))
	return w
}

// Write adds a reading of a device with properties of the device by their names. It has no series that the file lacks,
// unless the file has the column More.
func (w *ReadingsWriter) Write(device string, about map[string]string, s *fold.Sample) error {
	key, at := s.Key.String(), s.Key.Ticks.Time()
	if w.Rows == 0 || at.Before(w.Times.Min) {
		w.Times.Min = at
	}
	if w.Rows == 0 || at.After(w.Times.Max) {
		w.Times.Max = at
	}
	if w.Rows == 0 || key < w.Keys.Min {
		w.Keys.Min = key
	}
	if w.Rows == 0 {
		w.Devices.Min = device
	}
	w.Keys.Max = max(w.Keys.Max, key)
	if w.Rows > 0 && device != w.Devices.Max {
		if err := w.rows.endGroup(); err != nil {
			return err
		}
	}
	w.Devices.Max = device
	w.Rows++
	row := w.rows.begin()
	row[0] = parquet.ByteArrayValue([]byte(device)).Level(0, 0, 0)
	row[1] = parquet.Int64Value(micros(s.Key.Ticks)).Level(0, 0, 1)
	row[2] = parquet.ByteArrayValue([]byte(key)).Level(0, 0, 2)
	for name, value := range about {
		series := Series{Sensor: name, Kind: Text, About: true}
		if err := w.set(row, series, parquet.ByteArrayValue([]byte(value))); err != nil {
			return err
		}
	}
	if err := w.values(row, s); err != nil {
		return err
	}
	if err := w.setMore(row); err != nil {
		return err
	}
	return w.rows.addRow(row, firstSeries*8+len(key))
}

// values sets the values of a reading.
func (w *ReadingsWriter) values(row parquet.Row, s *fold.Sample) error {
	for i := range s.Values {
		v := &s.Values[i]
		if v.Doubtful {
			row[3] = parquet.BooleanValue(true).Level(0, 1, 3)
		}
		series, is := seriesOf(s, v)
		value := parquet.DoubleValue(v.Number)
		if series.Kind == Text {
			value = parquet.ByteArrayValue([]byte(v.State))
		}
		if !is {
			continue
		}
		if err := w.set(row, series, value); err != nil {
			return err
		}
	}
	for _, x := range s.Exact {
		series, value := exactSeries(x), parquet.Int64Value(x.Value.Int())
		if series.Kind == Binary {
			value = parquet.ByteArrayValue(x.Value.Binary())
		}
		if err := w.set(row, series, value); err != nil {
			return err
		}
	}
	return nil
}

func (w *ReadingsWriter) set(row parquet.Row, s Series, v parquet.Value) error {
	i, is := w.at[s]
	if _, more := w.at[Series{Kind: More}]; more && !is && !s.About {
		one, err := moreOf(s, v)
		w.more = append(w.more, one)
		return err
	}
	if !is {
		return fmt.Errorf("writing Parquet: there is no column for sensor %s, kind %d", tables.Quote(s.Sensor), s.Kind)
	}
	row[i] = v.Level(0, 1, i)
	w.rows.bytes += 8
	if v.Kind() == parquet.ByteArray {
		w.rows.bytes += len(v.ByteArray())
	}
	return nil
}

// setMore sets the column of sensors that have none, if the reading has values of some.
func (w *ReadingsWriter) setMore(row parquet.Row) error {
	if len(w.more) == 0 {
		return nil
	}
	text, err := moreText(w.more)
	if w.more = w.more[:0]; err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return w.set(row, Series{Kind: More}, parquet.ByteArrayValue(text))
}

// Held returns about how many bytes of values are not written yet.
func (w *ReadingsWriter) Held() int64 { return int64(w.rows.bytes) }

// Close ends the file.
func (w *ReadingsWriter) Close() error { return w.rows.close() }
