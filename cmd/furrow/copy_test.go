package main

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

// TestCopiedFleetGoesOnElsewhere copies a fleet from a served directory to another one, and finishes.
func TestCopiedFleetGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	f, there := newFixture(t), newFixture(t)
	f.must("enrollment add plant1 --tenant contoso --written-by-others")
	f.must("device add pump-7 --json")
	f.sendTemperature("pump-7", 21.5)
	f.must("schedule --once")
	f.work()
	copies := func(args ...string) (code int, out, errs string) {
		return furrow(t.Context(), append([]string{"copy", f.storage, there.storage}, args...)...)
	}
	code, out, errs := copies("--json")
	if lines := jsonOf[copiedLine](t, out); code != exitOK || len(lines) < 8 {
		t.Fatalf("exit %d, %v, %s", code, lines, errs)
	}
	for _, line := range []string{"status", "enrollment add plant2 --tenant contoso", "access add alice --role admin",
		"access remove alice", "mute add --rule silent --until 2h", "mute remove 1", "config rollback 1",
		"incident ack silent~pump-7~20261120T081500Z", "config apply examples/default.yaml"} {
		there.refused(anyFailure, "finish it with furrow copy --finish", line)
	}
	f.sendTemperature("pump-7", 22.5) // which the source has not folded
	code, out, errs = copies("--finish")
	if code != exitOK || !strings.Contains(out, "Both are equal") || !strings.Contains(out, "it can be removed") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if code, out, errs = copies("--finish"); code != exitOK || !strings.Contains(out, "0 readings followed") {
		t.Errorf("finished again: exit %d, %s%s", code, out, errs)
	}
	if code, _, errs = copies(); code != exitFailed || !strings.Contains(errs, "no unfinished copy") {
		t.Errorf("copied again: exit %d, %s", code, errs)
	}
	there.must("schedule --once")
	there.work()
	there.says("22.5", "query pump-7 --latest")
	there.says("plant1", "enrollment list")
	refused(t, exitUsage, "name the TO: furrow copy FROM TO", "copy "+f.storage)
	refused(t, anyFailure, "there is no fleet", "copy "+newFixture(t).storage+" "+newFixture(t).storage)
}

// sendTemperature inserts a reading that is old enough to be folded.
func (f *fixture) sendTemperature(device string, temperature float64) {
	f.t.Helper()
	e := tables.Entity{PartitionKey: device,
		RowKey: tables.TicksOf(time.Now().Add(-20 * time.Second)).String()}
	e.Set("temperature", tables.Double(temperature))
	_, err := f.client.Table("readings").Do(f.t.Context(), tables.Insert(e))
	must(f.t, err)
}
