package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// TestAuditRunFoldsLateReadings: a late reading is in no output until somebody asks for an audit.
func TestAuditRunFoldsLateReadings(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	late := tables.Entity{PartitionKey: "acme:d0000", RowKey: tables.TicksOf(time.Now().Add(-65 * time.Minute)).String()}
	late.Set("lateness", tables.Double(1))
	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(late))
	must(t, err)
	f.must("schedule --once --every 1s --pipeline live")
	f.work()
	if strings.Contains(f.hours(), "lateness") {
		t.Fatal("it is folded without an audit")
	}
	if out := f.must("audit run --pipeline live"); !strings.Contains(out, "furrow status --pipeline live") {
		t.Errorf("audit run prints %s", out)
	}
	f.work()
	if !strings.Contains(f.hours(), "lateness") {
		t.Error("it is not folded")
	}
	out := f.must("status --pipeline live")
	if !strings.Contains(out, "by furrow audit run: 3 devices, 1 of 1 audits (1 late row found)") ||
		!strings.Contains(out, "271 folded, 1 of them found late") {
		t.Errorf("the status is\n%s", out)
	}
}

func TestAuditRunWaitsForTheResults(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	working := startWorker(t, os.Stderr, "--pipeline", "live", "--storage", f.storage)
	line := jsonOf[auditLine](t, f.must("audit run --pipeline live --wait --json"))[0]
	if !line.Done || line.Devices != 3 || line.Audits != 1 || line.Late != 0 || line.Missing != 0 {
		t.Errorf("the audit is %+v", line)
	}
	must(t, working.Process.Signal(os.Interrupt))
	must(t, working.Wait())
}

// TestAuditProgressSaysWhatItWaitsFor: a worker that has begun and not ended a job yet is none that is missing.
func TestAuditProgressSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	var figures worker.RunFigures
	says := func(want string) {
		t.Helper()
		if is := auditProgress(figures, time.Hour); is != want {
			t.Errorf("it says %q, want %q", is, want)
		}
	}
	says("no worker has begun yet. An idle one looks every 30s: is one running? See furrow status")
	figures.Workers.Operations = map[string]int64{"tables query": 1}
	says("a worker plans the audits")
	figures.Months.Audits, figures.Workers.Jobs = 3, map[string]int64{"audit done": 1}
	says("1 of 3 audit messages are done")
}

// TestAnAuditWithoutTheCountsOfAKilledWorkerIsNotOver: the messages that its jobs put are not counted either, so that
// one of these that is done looks like the last.
func TestAnAuditWithoutTheCountsOfAKilledWorkerIsNotOver(t *testing.T) {
	t.Parallel()
	r := worker.RunFigures{Months: schema.MonthFigures{Devices: 30, Held: 1, Audits: 1}}
	r.Workers.Jobs = map[string]int64{"master done": 1, "month done": 1, "audit done": 1}
	if !r.Audited() || uncounted(r) != 29 {
		t.Errorf("%d devices are uncounted", uncounted(r))
	}
	if r.Workers.Audited = 30; uncounted(r) != 0 {
		t.Errorf("%d devices are uncounted of those that were audited", uncounted(r))
	}
}
