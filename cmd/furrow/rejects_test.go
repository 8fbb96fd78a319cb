package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

func (f *fixture) rejects(args ...string) []map[string]string {
	f.t.Helper()
	out, errs := f.both("rejects", args...)
	if errs != "" {
		f.t.Fatalf("furrow rejects %q: %s", args, errs)
	}
	return csvRecords(f.t, out)
}

// rejectedRows are the keys of a device's rows that are not folded, or only in part.
func (f *fixture) rejectedRows(id schema.DeviceID) (keys []string) {
	for _, e := range f.rows[id] {
		if e.Get("humidity").Text() == "nan" || strings.HasSuffix(e.RowKey, "x") {
			keys = append(keys, e.RowKey)
		}
	}
	return keys
}

func rowsOf(lines []map[string]string) (rows []string) {
	for _, r := range lines {
		rows = append(rows, r["row"])
	}
	return rows
}

func TestRejectsAreTheRowsThatWereNotFolded(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	a, b := f.rejectedRows("contoso:us-1:a"), f.rejectedRows("contoso:us-1:b")
	if got := f.rejects("contoso:us-1:a"); !slices.Equal(rowsOf(got), a) {
		t.Errorf("of a device there are %d, want %d", len(got), len(a))
	}
	if got := f.rejects("--prefix", "contoso:us-1"); !slices.Equal(rowsOf(got), slices.Concat(a, b)) {
		t.Errorf("of a prefix there are %d, want %d", len(got), len(a)+len(b))
	}
	all := 0
	for _, d := range f.devices {
		all += len(f.rejectedRows(d.ID))
	}
	if got := f.rejects(); len(got) != all {
		t.Errorf("of all devices there are %d, want %d", len(got), all)
	}
	if got := f.rejects("--tenant", "fabrikam"); !slices.Equal(rowsOf(got), f.rejectedRows("fabrikam:x")) {
		t.Errorf("of a tenant there are %d", len(got))
	}
	for _, r := range f.rejects("contoso:us-1:a") {
		if !strings.Contains(r["reason"], "humidity: it is not finite") && !strings.Contains(r["reason"], "ticks") {
			t.Errorf("the reason of %s is %q", r["row"], r["reason"])
		}
		if !strings.HasPrefix(r["reading"], r["row"]) || (r["time"] == "") != strings.HasSuffix(r["row"], "x") {
			t.Errorf("%s has the time %q and the text %q", r["row"], r["time"], r["reading"])
		}
	}
}

func TestRejectsOfASpanAndALimit(t *testing.T) {
	f := newOddFleet(t)
	from := f.begin.Add(30 * time.Hour)
	var want []string
	for _, key := range f.rejectedRows("fabrikam:x") {
		if key >= tables.TicksOf(from).String() {
			want = append(want, key)
		}
	}
	if got := rowsOf(f.rejects("fabrikam:x", "--from", from.Format(time.RFC3339Nano))); !slices.Equal(got, want) {
		t.Errorf("since %s there are %d, want %d", from, len(got), len(want))
	}
	if got := rowsOf(f.rejects("fabrikam:x", "--limit", "2")); !slices.Equal(got, f.rejectedRows("fabrikam:x")[:2]) {
		t.Errorf("the first two are %q", got)
	}
}

func TestSummaryCountsRejectsByReason(t *testing.T) {
	f := newOddFleet(t)
	want := map[bool]int{}
	for _, key := range f.rejectedRows("fabrikam:x") {
		want[strings.HasSuffix(key, "x")]++
	}
	got := f.rejects("fabrikam:x", "--summary")
	if len(got) != 2 {
		t.Fatalf("there are the reasons %v", got)
	}
	for _, r := range got {
		if n, _ := strconv.Atoi(r["count"]); n != want[strings.Contains(r["reason"], "ticks …")] {
			t.Errorf("%v; want %v", r, want)
		}
	}
	if first, _ := strconv.Atoi(got[0]["count"]); first < want[true] || first < want[false] {
		t.Errorf("the commonest is not first: %v", got)
	}
}

// TestRejectsSayHowManyAreNoLongerKept: the newest hundred of a device's 250 rejects are kept, and every
// answer says so.
func TestRejectsSayHowManyAreNoLongerKept(t *testing.T) {
	f := newObservedFixture(t)
	var rows []tables.Entity
	for n := range 250 {
		e := tables.Entity{PartitionKey: "d1", RowKey: tables.TicksOf(f.begin.Add(time.Duration(n) * time.Second)).String()}
		e.Set("temperature", tables.String("nan"))
		rows = append(rows, e)
	}
	f.add(newDevice("d1", "contoso", 2026, 10), rows...)
	f.fold()
	for _, args := range [][]string{{"d1"}, {"--tenant", "contoso"}, {"--summary"}, {"--prefix", "d", "--json"}} {
		out, errs := f.both("rejects", args...)
		if !strings.Contains(errs, "d1, pipeline live: 250 rejected, the newest 100 kept") {
			t.Errorf("furrow rejects %q: %s", args, errs)
		}
		if last := rows[249].RowKey; !strings.Contains(out, last) {
			t.Errorf("furrow rejects %q: the newest, %s, is not there:\n%s", args, last, out)
		}
		if args[len(args)-1] == "--json" && !strings.Contains(out, `"value":"nan"`) {
			t.Errorf("%.300s", out)
		}
	}
	got := csvRecords(t, f.must("rejects d1"))
	if len(got) != 100 || got[0]["row"] != rows[150].RowKey || got[99]["number"] != "250" || got[0]["total"] != "250" {
		t.Errorf("%d rejects, from %v", len(got), got[0])
	}
}
