package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

func TestStatusSaysWhatRunsHaveDone(t *testing.T) {
	y := newFleetFixture(t)
	out, _ := y.furrow(t, "status", "--json", "--pipeline", "live")
	var all []pipelineStatus
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || len(all[0].Runs) == 0 {
		t.Fatalf("%v\n%s", err, out)
	}
	s := all[0]
	r := s.Runs[len(s.Runs)-1]
	// Three months of one device each share a batch.
	if s.Devices != int64(y.devices) || s.LagSeconds == nil || *s.LagSeconds > 200 || !r.Done || r.Batches != 1 ||
		r.BatchesDone != 1 || r.Rows != int64(y.devices*90) {
		t.Errorf("the status is\n%s", out)
	}
	if s.Rows != r.Rows || s.PlannedSeconds == nil {
		t.Errorf("%d rows are folded in all, and %d by the only run:\n%s", s.Rows, r.Rows, out)
	}
	for _, name := range []string{"tables query", "tables transaction", "queues put", "queues delete", "queues get"} {
		if r.Operations[name] == 0 {
			t.Errorf("there is no operation %q among %v", name, r.Operations)
		}
	}
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set("Attempts", tables.Int64(3))
	e.Set("HeldUntil", tables.DateTime(tables.TicksOf(r.Slot).Add(1e18)))
	if _, err := y.tables.Table(schema.Names{}.Partitions("live")).Do(t.Context(),
		tables.Merge(e, tables.AnyETag)); err != nil {
		t.Fatal(err)
	}
	y.furrow(t, "schedule", "--once", "--every", "1s", "--pipeline", "live")
	y.work(t)
	if out, _ = y.furrow(t, "status", "--pipeline", "live"); !strings.Contains(out, "1 failing, 1 held") ||
		!strings.Contains(out, "done in") {
		t.Errorf("with a held device:\n%s", out)
	}
}

func TestStatusOfAPipelineThatNeverRan(t *testing.T) {
	dir := t.TempDir()
	startStorage(t, nil, "--data", dir)
	code, out, errs := furrow(t.Context(), "status", "--storage", dir)
	if code != exitOK || !strings.Contains(out, "lag      not known") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
}

// TestDeviceOfANewerVersionIsPassedOverAndSaid: the other devices of its batch are folded.
func TestDeviceOfANewerVersionIsPassedOverAndSaid(t *testing.T) {
	y := newFleetFixture(t)
	tracking := y.tables.Table(schema.Names{}.Partitions("live"))
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set(schema.FormatProperty, tables.Int64(schema.Format+1))
	if _, err := tracking.Do(t.Context(), tables.Merge(e, tables.AnyETag)); err != nil {
		t.Fatal(err)
	}
	before, err := tracking.Get(t.Context(), e.PartitionKey, e.RowKey)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also where the plan does not know of it yet
		y.furrow(t, "schedule", "--once", "--every", "1s", "--pipeline", "live")
		y.work(t)
		time.Sleep(time.Second)
	}
	after, err := tracking.Get(t.Context(), e.PartitionKey, e.RowKey)
	if err != nil || after.ETag != before.ETag {
		t.Errorf("its row was written: %v", err)
	}
	out, _ := y.furrow(t, "status", "--pipeline", "live")
	if !strings.Contains(out, "0 failing, 0 held, 1 written by a newer version of furrow") {
		t.Errorf("the status is\n%s", out)
	}
}
