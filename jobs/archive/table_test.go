package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	parquetschema "github.com/apache/arrow-go/v18/parquet/schema"
)

// A tableOf is a table of readings with what is in it.
type tableOf struct {
	*catalog.Table
	account   tables.Account
	container string
	store     *archive.Store
	want      map[string]string // readings as readers find them, by device and key
	rows      []map[string]any  // the same
	names     map[catalog.Series]string
}

// odd is a tenant whose name no folder may have as it is.
const odd = "a b=é%"

func newTable(t *testing.T) *tableOf {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	return newTableOf(t, account, azuretest.Name("tables"), odd)
}

// newTableOf has an empty table of a tenant. The container may be there.
func newTableOf(t *testing.T, account tables.Account, container string, tenant schema.Tenant) *tableOf {
	t.Helper()
	store := must.Have(archive.Connect(archive.StoreConfig{Account: account, Container: container,
		Transport: azuretest.Transport(nil)}))(t)
	must.Succeed(t, store.Create(t.Context()))
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: azuretest.Transport(nil)}))(t)
	rows := client.Table(azuretest.Name("catalog"))
	must.Succeed(t, rows.Create(t.Context()))
	x := &tableOf{Table: catalog.New(rows).Table(tenant, "readings"), account: account, container: container, store: store,
		want: map[string]string{}}
	must.Succeed(t, x.Create(t.Context(), []delta.Column{{Name: columnar.Device, Type: delta.Text}, {Name: columnar.Time,
		Type: delta.Moment}, {Name: columnar.Key, Type: delta.Text}, {Name: columnar.Doubtful, Type: delta.Boolean,
		Nullable: true}, {Name: "date", Type: delta.Date}}))
	return x
}

// A sent is one reading of a device.
type sent struct {
	device string
	fold.Sample
}

// kinds are the types of the columns of kinds.
var kinds = map[columnar.Kind]delta.Type{columnar.Double: delta.Double, columnar.Long: delta.Long,
	columnar.Text: delta.Text, columnar.Binary: delta.Bytes}

// put commits readings of a day in place of files.
func (x *tableOf) put(t *testing.T, day schema.Day, gone func(catalog.File) bool, readings ...sent) {
	t.Helper()
	ctx := t.Context()
	s := must.Have(x.Begin(ctx, day))(t)
	change := &catalog.Change{Days: []catalog.Day{s.Day(schema.Month{Year: 2026, Month: 6})}}
	for _, f := range s.Files {
		if gone(f) {
			change.Gone = append(change.Gone, f)
		}
	}
	if len(readings) > 0 {
		change.New = []catalog.File{x.file(t, ctx, day, readings)}
	}
	must.Have(x.Commit(ctx, s, change))(t)
}

// file puts a file with readings.
func (x *tableOf) file(t *testing.T, ctx context.Context, day schema.Day, readings []sent) catalog.File {
	t.Helper()
	var wanted []catalog.Series
	var series []columnar.Series
	for i := range readings {
		for _, one := range columnar.SeriesOf(&readings[i].Sample) {
			if !slices.Contains(series, one) {
				series = append(series, one)
				wanted = append(wanted, catalog.Series{Sensor: one.Sensor, Type: kinds[one.Kind]})
			}
		}
	}
	x.names = must.Have(x.Columns(ctx, wanted))(t)
	var named []columnar.NamedSeries
	for i := range series {
		named = append(named, columnar.NamedSeries{Series: series[i], Name: x.names[wanted[i]]})
	}
	var content bytes.Buffer
	w := columnar.NewReadings(&content, named)
	for i := range readings {
		must.Succeed(t, w.Write(readings[i].device, nil, &readings[i].Sample))
	}
	must.Succeed(t, w.Close())
	f := must.Have(x.Pend(ctx, day))(t)
	f.Months, f.Bytes = []schema.Month{{Year: 2026, Month: 6}}, int64(content.Len())
	f.Stats = delta.Stats{Rows: w.Rows, Ranges: map[string]delta.Range{"device": delta.Range(w.Devices),
		"key": delta.Range(w.Keys), "time": delta.Times(w.Times.Min, w.Times.Max)}}
	must.Succeed(t, x.store.Put(ctx, x.Path(&f), content.Bytes(), ""))
	return f
}

// Values that JSON has no form of its own for, which readers tell from numbers and texts.
type (
	micros int64  // since 1970
	dated  string // a day
)

// expect notes readings as readers find them.
func (x *tableOf) expect(readings ...sent) {
	for _, r := range readings {
		row := rowOf(x.names, r.device, &r.Sample)
		x.rows = append(x.rows, row)
		x.want[r.device+"/"+r.Key.String()] = canonical(row)
	}
}

// rowOf returns a reading as readers find it in columns of some names.
func rowOf(names map[catalog.Series]string, device string, r *fold.Sample) map[string]any {
	row := map[string]any{"device": device, "key": r.Key.String(), "time": micros(r.Key.Ticks.Time().UnixMicro()),
		"date": dated(schema.DayOf(r.Key.Ticks).String())}
	more := map[string]json.RawMessage{}
	set := func(sensor string, kind delta.Type, v any) {
		if name := names[catalog.Series{Sensor: sensor, Type: kind}]; name != "" {
			row[name] = v
		} else {
			suffix := map[delta.Type]string{delta.Long: "_long", delta.Text: "_text", delta.Bytes: "_bytes"}[kind]
			text, _ := json.Marshal(v)
			if n, is := v.(float64); is {
				text = strconv.AppendFloat(nil, n, 'g', -1, 64)
			}
			more[sensor+suffix] = text
		}
	}
	for _, v := range r.Values {
		if v.Is == fold.State {
			set(v.Sensor, delta.Text, v.State)
		} else if !slices.ContainsFunc(r.Exact, func(e fold.ExactValue) bool { return e.Sensor == v.Sensor }) {
			set(v.Sensor, delta.Double, v.Number)
		}
		if v.Doubtful {
			row["doubtful"] = true
		}
	}
	for _, e := range r.Exact {
		if e.Value.Type() == tables.TypeBinary {
			set(e.Sensor, delta.Bytes, e.Value.Binary())
		} else {
			set(e.Sensor, delta.Long, e.Value.Int())
		}
	}
	if len(more) > 0 {
		text, _ := json.Marshal(more)
		row["more"] = string(text)
	}
	return row
}

// canonical is a row as text: numbers in the shortest form that tells them apart.
func canonical(row map[string]any) string {
	text, _ := json.Marshal(row) // of numbers, texts and booleans
	return string(text)
}

// sampleOf converts properties as the archive does.
func sampleOf(device string, at time.Time, properties map[string]tables.Value) sent {
	e := tables.Entity{PartitionKey: device, RowKey: tables.TicksOf(at).String()}
	for name, v := range properties {
		e.Set(name, v)
	}
	r, _ := schema.ReadingOf(e)
	sample, _ := (&fold.Sensors{}).Sample(r)
	return sent{device, sample}
}

// filled has a table with every kind of value, columns that come later, sensors whose names are odd or differ by case,
// a day that was replaced, and a checkpoint.
func filled(t *testing.T) *tableOf {
	t.Helper()
	x := newTable(t)
	day := schema.DayOf(tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)))
	at := func(day schema.Day, n int) time.Time {
		return day.Start().Time().Add(time.Duration(n)*time.Minute + 123456700)
	}
	none := func(catalog.File) bool { return false }
	var early, late []sent
	for n := range 40 {
		early = append(early, sampleOf("contoso:d1", at(day, n), map[string]tables.Value{
			"temp": tables.Double(float64(n) / 3), "on": tables.Boolean(n%2 == 0),
			"text": tables.String(fmt.Sprint("text ", n%8)),
		}))
	}
	values := map[string]tables.Value{
		"temp": tables.String("warm"), "Temp": tables.Double(math.Copysign(0, -1)), "größe": tables.Int32(-7),
		"a b;c": tables.Double(1e-300),
		"count": tables.Int64(math.MaxInt64), "small": tables.Int64(1 << 53), "raw": tables.Binary([]byte{0, 255, 7}),
		"id": tables.GUID("6f1b0d2e-5a0c-4a52-9d8f-0d5f0e2f7a11"), "device": tables.Double(3), "2nd": tables.String("x"),
		"when": tables.DateTime(tables.TicksOf(at(day, 7))), "max": tables.Double(math.MaxFloat64),
		"low": tables.Int64(math.MinInt64), "tiny": tables.Double(5e-324), "empty": tables.String(""),
		"none": tables.Binary(nil), "odd": tables.String("\"\\\n\x00\U0001F69C"), "number": tables.String("12.5"),
		"yes": tables.Boolean(true), "nan": tables.Double(math.NaN()), "infinite": tables.Double(math.Inf(-1)), // no readings
	}
	late = append(late, sampleOf("contoso:d2", at(day+1, 1), values))
	for n := range 30 {
		late = append(late, sampleOf("contoso:d2", at(day+1, 2+n), map[string]tables.Value{
			"count": tables.Int64(int64(n)<<53 + 1), "text": tables.String(strings.Repeat("é", n))}))
	}
	late[3].Values[0].Doubtful = true
	late = append(late, sampleOf("contoso:d2", at(day+1, 50), map[string]tables.Value{"nan": tables.Double(math.NaN())}))
	x.put(t, day, none, early[:30]...)
	x.put(t, day+1, none, late...)
	x.put(t, day, func(catalog.File) bool { return true }, early...) // late rows
	must.Have(x.Log(x.store).Publish(t.Context()))(t)
	must.Succeed(t, x.Log(x.store).Checkpoint(t.Context(), true))
	x.put(t, day+2, none, sampleOf("contoso:d3", at(day+2, 1), map[string]tables.Value{"newest": tables.Double(1)}))
	must.Have(x.Log(x.store).Publish(t.Context()))(t)
	x.names = must.Have(x.Columns(t.Context(), nil))(t)
	x.expect(early...)
	x.expect(late...)
	x.expect(sampleOf("contoso:d3", at(day+2, 1), map[string]tables.Value{"newest": tables.Double(1)}))
	return x
}

// TestTablesHaveEveryValue, read by the published protocol and by another implementation of Parquet.
func TestTablesHaveEveryValue(t *testing.T) {
	t.Parallel()
	x := filled(t)
	root := x.Folder()
	all := objects(t, x.account, x.container)
	got := map[string]string{}
	for path := range followed(t, all, root) {
		date, _, _ := strings.Cut(strings.TrimPrefix(path, "date="), "/")
		for _, row := range rowsOfFile(t, all[root+path]) {
			row["date"] = dated(date)
			got[fmt.Sprint(row["device"], "/", row["key"])] = canonical(row)
		}
	}
	same(t, got, x.want, "arrow-go")
}

// rowsOfFile reads a file of Parquet by columns.
func rowsOfFile(t *testing.T, content []byte) (rows []map[string]any) {
	t.Helper()
	r := must.Have(file.NewParquetReader(bytes.NewReader(content)))(t)
	defer r.Close()
	for g := range r.NumRowGroups() {
		first, n := len(rows), r.RowGroup(g).NumRows()
		for range n {
			rows = append(rows, map[string]any{})
		}
		for c := range r.MetaData().Schema.NumColumns() {
			column := r.MetaData().Schema.Column(c)
			values := valuesOf(t, must.Have(r.RowGroup(g).Column(c))(t), n)
			for i, v := range values {
				switch one := v.(type) {
				case parquet.ByteArray:
					if v = []byte(one); column.LogicalType().String() == "String" {
						v = string(one)
					}
				case int64:
					if _, is := column.LogicalType().(parquetschema.TimestampLogicalType); is {
						v = micros(one)
					}
				}
				if v != nil {
					rows[first+i][column.Name()] = v
				}
			}
		}
	}
	return rows
}

// valuesOf returns the values of a column, nil where there is none.
func valuesOf(t *testing.T, column file.ColumnChunkReader, n int64) []any {
	t.Helper()
	levels := make([]int16, n)
	var found []any
	switch c := column.(type) {
	case *file.ByteArrayColumnChunkReader:
		found = batch(t, levels, c.ReadBatch)
	case *file.Float64ColumnChunkReader:
		found = batch(t, levels, c.ReadBatch)
	case *file.Int64ColumnChunkReader:
		found = batch(t, levels, c.ReadBatch)
	case *file.BooleanColumnChunkReader:
		found = batch(t, levels, c.ReadBatch)
	default:
		t.Fatalf("a column of %T", column)
	}
	if column.Descriptor().MaxDefinitionLevel() == 0 {
		return found
	}
	all := make([]any, n)
	for i := range all {
		if levels[i] > 0 {
			all[i], found = found[0], found[1:]
		}
	}
	return all
}

// batch reads values until there are no more.
func batch[T any](t *testing.T, levels []int16,
	read func(int64, []T, []int16, []int16) (int64, int, error)) (all []any) {
	t.Helper()
	values := make([]T, len(levels))
	for done := 0; done < len(levels); {
		n, has, err := read(int64(len(levels)-done), values, levels[done:], nil)
		must.Succeed(t, err)
		for _, v := range values[:has] {
			if b, is := any(v).(parquet.ByteArray); is {
				all = append(all, parquet.ByteArray(slices.Clone(b)))
			} else {
				all = append(all, v)
			}
		}
		done += int(n)
	}
	return all
}
