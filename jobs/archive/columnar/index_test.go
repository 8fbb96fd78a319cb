package columnar

import (
	"bytes"
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/parquet-go/parquet-go"
)

// TestTheIndexOfPagesSpansTheirValues, also those that begin like the greatest there are: readers pass over a page
// whose greatest value is less than what they look for.
func TestTheIndexOfPagesSpansTheirValues(t *testing.T) {
	raw, state := bytes.Repeat([]byte{255}, tables.MaxProperty), strings.Repeat("\U0010ffff", 64)
	var file bytes.Buffer
	w := NewReadings(&file, []NamedSeries{{Series{Sensor: "raw", Kind: Binary}, "raw_bytes"},
		{Series{Sensor: "state", Kind: Text}, "state_text"}})
	must.Succeed(t, w.Write("d", nil, &fold.Sample{Key: schema.RowKey{Ticks: noon, Suffix: strings.Repeat("~", 40)},
		Values: []fold.SensorValue{{Sensor: "state", Is: fold.State, State: state}},
		Exact:  []fold.ExactValue{{Sensor: "raw", Value: tables.Binary(raw)}}}))
	must.Succeed(t, w.Close())
	f := must.Have(parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	row := must.Have(newRowReader(f).next())(t)
	for i, column := range f.RowGroups()[0].ColumnChunks() {
		index := must.Have(column.ColumnIndex())(t)
		if v := row[i]; !v.IsNull() && (column.Type().Compare(index.MinValue(0), v) > 0 ||
			column.Type().Compare(index.MaxValue(0), v) < 0) {
			t.Errorf("column %s: a page from %.40q to %.40q has %.40q", f.Schema().Columns()[i][0],
				index.MinValue(0).String(), index.MaxValue(0).String(), v.String())
		}
	}
}
