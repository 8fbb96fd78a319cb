package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestAuditRunFoldsWhatCameLate: a reading that came late is in no output until
// somebody asks for an audit.
func TestAuditRunFoldsWhatCameLate(t *testing.T) {
	y := newFleetFixture(t)
	late := tables.Entity{PartitionKey: "acme:d0000", RowKey: tables.TicksOf(time.Now().Add(-65 * time.Minute)).String()}
	late.Set("lateness", tables.Double(1))
	if _, err := y.tables.Table(schema.Names{}.Readings()).Do(t.Context(), tables.Insert(late)); err != nil {
		t.Fatal(err)
	}
	y.furrow(t, "schedule", "--once", "--every", "1s", "--pipeline", "live")
	y.work(t)
	if strings.Contains(y.hours(t), "lateness") {
		t.Fatal("it is folded without an audit")
	}
	out, _ := y.furrow(t, "audit", "run", "--pipeline", "live")
	if !strings.Contains(out, "furrow status --pipeline live") {
		t.Errorf("it says %s", out)
	}
	y.work(t)
	if !strings.Contains(y.hours(t), "lateness") {
		t.Error("it is not folded")
	}
	out, _ = y.furrow(t, "status", "--pipeline", "live")
	if !strings.Contains(out, "by furrow audit run: 3 devices, 1 of 1 audits (1 late row found)") ||
		!strings.Contains(out, "271 folded, 1 of them found late") {
		t.Errorf("the status is\n%s", out)
	}
}

func TestAuditRunWaitsForWhatItFinds(t *testing.T) {
	y := newFleetFixture(t)
	// A process of its own: two command lines that are parsed at once race in the library's flags.
	working := startWorker(t, os.Stderr, "--idle-exit", "5s", "--pipeline", "live", "--storage", y.dir)
	out, _ := y.furrow(t, "audit", "run", "--pipeline", "live", "--wait", "--json")
	var line auditLine
	if err := json.Unmarshal([]byte(out), &line); err != nil || !line.Done || line.Devices != 3 || line.Audits != 1 ||
		line.Late != 0 || line.Missing != 0 {
		t.Errorf("%v: %s", err, out)
	}
	if err := working.Wait(); err != nil {
		t.Errorf("the worker: %v", err)
	}
}
