package delta_test

import (
	"bytes"
	"reflect"
	"testing"

	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/must"
)

// TestALogIsReadWhoeverWroteIt: only the names of files count, however they are escaped.
func TestALogIsReadWhoeverWroteIt(t *testing.T) {
	var content bytes.Buffer
	c := must.Have(delta.NewCheckpoint(&content, metadata(t)))(t)
	must.Succeed(t, c.Add(delta.Add{Path: "date=1/a.parquet"}))
	must.Succeed(t, c.Remove(delta.Remove{Path: "date=1/b.parquet"}))
	must.Succeed(t, c.Add(delta.Add{Path: "date=1/c%20.parquet"}))
	must.Succeed(t, c.Close())
	live := must.Have(delta.ReadCheckpoint(content.Bytes()))(t)
	must.Succeed(t, live.Follow([]byte(`{"remove":{"path":"date%3D1/a.parquet","dataChange":false}}
{"commitInfo":{"operationParameters":{"n":1}}}
{"add":{"path":"d","partitionValues":{"date":null},"deletionVector":{"storageType":"u"}}}
`)))
	if want := (delta.Live{"date=1/c .parquet": "date=1/c%20.parquet", "d": "d"}); !reflect.DeepEqual(live, want) {
		t.Errorf("live are %q, want %q", live, want)
	}
	if err := live.Follow([]byte("{\n")); err == nil {
		t.Error("a damaged version was read")
	}
	for n := 0; n < content.Len(); n += 7 {
		damaged := bytes.Clone(content.Bytes())
		damaged[n] ^= 0x55
		_, _ = delta.ReadCheckpoint(damaged) // with or without an error, but it comes back
	}
	if _, err := delta.ReadCheckpoint(content.Bytes()[:content.Len()/2]); err == nil {
		t.Error("half a checkpoint was read")
	}
}
