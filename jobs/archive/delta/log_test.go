package delta_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/must"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

func metadata(t *testing.T) *delta.Metadata {
	t.Helper()
	schema := must.Have(delta.SchemaOf([]delta.Column{{Name: "device", Type: delta.Text}, {Name: "temp",
		Type: delta.Double, Nullable: true, Metadata: map[string]string{"furrow.sensor": "Temp °C"}}}))(t)
	return &delta.Metadata{ID: "i", Name: "readings", Format: delta.Format{Provider: "parquet",
		Options: map[string]string{}}, Schema: schema, Partitions: []string{"date"}, Configuration: map[string]string{}}
}

func version(t *testing.T) delta.Version {
	t.Helper()
	date := map[string]string{"date": "2026-11-20"}
	return delta.Version{
		Info:     delta.Info{Timestamp: 1, Operation: "MERGE", Params: map[string]string{}, Engine: "Furrow", TxnID: "x"},
		Metadata: metadata(t),
		Removed: []delta.Remove{{Path: "date=2026-11-20/a.parquet", Deleted: 5, DataChange: true, Extended: true,
			Partition: date, Size: 7}},
		Added: []delta.Add{{Path: "date=2026-11-20/b.parquet", Size: 9, Modified: 6, DataChange: true, Partition: date,
			Stats: delta.Stats{Rows: 3, Ranges: map[string]delta.Range{"device": {Min: "a", Max: "b°"}}}.String()}},
	}
}

// TestVersionsAreLinesOfJSON as the protocol has them, and come back.
func TestVersionsAreLinesOfJSON(t *testing.T) {
	v := version(t)
	for number, kinds := range map[int64]string{0: "commitInfo protocol metaData remove add",
		7: "commitInfo metaData remove add"} {
		v.Begins = number == 0
		text := must.Have(v.Bytes(number))(t)
		var got []string
		for line := range strings.Lines(string(text)) {
			one := map[string]any{}
			must.Succeed(t, json.Unmarshal([]byte(line), &one))
			for kind := range one {
				got = append(got, kind)
			}
		}
		if is := strings.Join(got, " "); is != kinds {
			t.Errorf("version %d has %s, want %s", number, is, kinds)
		}
		if back := parsed(t, text); !reflect.DeepEqual(back, v) {
			t.Errorf("version %d comes back as\n%+v, want\n%+v", number, back, v)
		}
		if again := must.Have(v.Bytes(number))(t); !bytes.Equal(again, text) {
			t.Error("the same version has other bytes")
		}
	}
}

// parsed returns what the lines of a version say.
func parsed(t *testing.T, file []byte) (v delta.Version) {
	t.Helper()
	for line := range bytes.Lines(file) {
		var a struct {
			Info     *delta.Info     `json:"commitInfo"`
			Protocol *delta.Protocol `json:"protocol"`
			Metadata *delta.Metadata `json:"metaData"`
			Remove   *delta.Remove   `json:"remove"`
			Add      *delta.Add      `json:"add"`
		}
		must.Succeed(t, json.Unmarshal(line, &a))
		switch {
		case a.Info != nil:
			v.Info = *a.Info
		case a.Protocol != nil:
			v.Begins = true
		case a.Metadata != nil:
			v.Metadata = a.Metadata
		case a.Remove != nil:
			v.Removed = append(v.Removed, *a.Remove)
		case a.Add != nil:
			v.Added = append(v.Added, *a.Add)
		}
	}
	return v
}

// TestStatsAreWhole: readers pass over a file by them, so a greatest value is not shortened.
func TestStatsAreWhole(t *testing.T) {
	long := strings.Repeat("z", 1000)
	want := `{"numRecords":2,"minValues":{"device":"a"},"maxValues":{"device":"` + long + `"},"nullCount":{"device":0}}`
	stats := delta.Stats{Rows: 2, Ranges: map[string]delta.Range{"device": {Min: "a", Max: long}}}
	if got := stats.String(); got != want {
		t.Errorf("stats %s", got)
	}
}

// TestCheckpointsAreReadByOthers: texts are in PLAIN, and each column is as another implementation reads it.
func TestCheckpointsAreReadByOthers(t *testing.T) {
	var content bytes.Buffer
	c := must.Have(delta.NewCheckpoint(&content, metadata(t)))(t)
	v := version(t)
	must.Succeed(t, c.Add(v.Added[0]))
	must.Succeed(t, c.Remove(v.Removed[0]))
	must.Succeed(t, c.Close())
	r := must.Have(file.NewParquetReader(bytes.NewReader(content.Bytes())))(t)
	defer r.Close()
	for name, want := range map[string]string{
		"add.path":                               "[date=2026-11-20/b.parquet]",
		"add.partitionValues.key_value.key":      "[date]",
		"add.partitionValues.key_value.value":    "[2026-11-20]",
		"add.stats":                              "[" + v.Added[0].Stats + "]",
		"remove.path":                            "[date=2026-11-20/a.parquet]",
		"metaData.id":                            "[i]",
		"metaData.schemaString":                  "[" + v.Metadata.Schema + "]",
		"metaData.partitionColumns.list.element": "[date]",
		"metaData.format.provider":               "[parquet]",
	} {
		at := r.MetaData().Schema.ColumnIndexByName(name)
		if at < 0 {
			t.Fatalf("there is no column %s in %v", name, r.MetaData().Schema)
		}
		chunk := must.Have(r.MetaData().RowGroup(0).ColumnChunk(at))(t)
		if slices.Contains(chunk.Encodings(), parquet.Encodings.DeltaLengthByteArray) {
			t.Errorf("column %s is in %v", name, chunk.Encodings())
		}
		column := must.Have(r.RowGroup(0).Column(at))(t).(*file.ByteArrayColumnChunkReader)
		values, levels, repeated := make([]parquet.ByteArray, 9), make([]int16, 9), make([]int16, 9)
		_, n, err := column.ReadBatch(9, values, levels, repeated)
		must.Succeed(t, err)
		if got := fmt.Sprintf("%s", values[:n]); got != want {
			t.Errorf("column %s has %s, want %s", name, got, want)
		}
	}
	if r.NumRows() != 4 {
		t.Errorf("%d rows, want the protocol, the columns, and two files", r.NumRows())
	}
	last := c.Last(7, int64(content.Len()))
	if found := must.Have(delta.LastOf(7, content.Bytes()))(t); found.Rows != last.Rows || found.Bytes != last.Bytes {
		t.Errorf("found %+v, made %+v", found, last)
	}
	if back := must.Have(delta.ParseLast(must.Have(last.Marshal())(t)))(t); back != last {
		t.Errorf("%+v comes back as %+v", last, back)
	}
}
