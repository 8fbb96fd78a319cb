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

func (y *queryFixture) rejects(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	code, out, errs := y.furrow(t, append([]string{"rejects"}, args...)...)
	if code != exitOK || errs != "" {
		t.Fatalf("furrow rejects %q: exit %d, %s", args, code, errs)
	}
	return csvRecords(t, out)
}

// refused are the keys of a device's rows that are not folded, or not wholly.
func (y *queryFixture) refused(id schema.DeviceID) (keys []string) {
	for _, e := range y.rows[id] {
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

func TestRejectsAreTheRowsThatCouldNotBeFolded(t *testing.T) {
	y := newFleet(t)
	a, b := y.refused("contoso:us-1:a"), y.refused("contoso:us-1:b")
	if got := y.rejects(t, "contoso:us-1:a"); !slices.Equal(rowsOf(got), a) {
		t.Errorf("of a device there are %d, want %d", len(got), len(a))
	}
	if got := y.rejects(t, "--prefix", "contoso:us-1"); !slices.Equal(rowsOf(got), slices.Concat(a, b)) {
		t.Errorf("of a prefix there are %d, want %d", len(got), len(a)+len(b))
	}
	all := 0
	for _, d := range y.devices {
		all += len(y.refused(d.ID))
	}
	if got := y.rejects(t); len(got) != all {
		t.Errorf("of all devices there are %d, want %d", len(got), all)
	}
	if got := y.rejects(t, "--tenant", "fabrikam"); !slices.Equal(rowsOf(got), y.refused("fabrikam:x")) {
		t.Errorf("of a tenant there are %d", len(got))
	}
	for _, r := range y.rejects(t, "contoso:us-1:a") {
		if !strings.Contains(r["reason"], "humidity: it is not finite") && !strings.Contains(r["reason"], "ticks") {
			t.Errorf("the reason of %s is %q", r["row"], r["reason"])
		}
		if !strings.HasPrefix(r["reading"], r["row"]) || (r["time"] == "") != strings.HasSuffix(r["row"], "x") {
			t.Errorf("%s has the time %q and the text %q", r["row"], r["time"], r["reading"])
		}
	}
}

func TestRejectsOfASpanAndALimit(t *testing.T) {
	y := newFleet(t)
	from := y.begin.Add(30 * time.Hour)
	var want []string
	for _, key := range y.refused("fabrikam:x") {
		if key >= tables.TicksOf(from).String() {
			want = append(want, key)
		}
	}
	if got := rowsOf(y.rejects(t, "fabrikam:x", "--from", from.Format(time.RFC3339Nano))); !slices.Equal(got, want) {
		t.Errorf("since %s there are %d, want %d", from, len(got), len(want))
	}
	if got := rowsOf(y.rejects(t, "fabrikam:x", "--limit", "2")); !slices.Equal(got, y.refused("fabrikam:x")[:2]) {
		t.Errorf("the first two are %q", got)
	}
}

func TestSummaryCountsRejectsByReason(t *testing.T) {
	y := newFleet(t)
	want := map[bool]int{}
	for _, key := range y.refused("fabrikam:x") {
		want[strings.HasSuffix(key, "x")]++
	}
	got := y.rejects(t, "fabrikam:x", "--summary")
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

func TestRejectsOfAnUnknownDeviceAreAnError(t *testing.T) {
	y := newFleet(t)
	if code, _, errs := y.furrow(t, "rejects", "fabrikam:y"); code != exitFailed || !strings.Contains(errs,
		"similar IDs: fabrikam:x") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestRejectsSayHowManyAreNoLongerKept: of a device that sent 250 bad rows, the
// newest hundred are there, and every answer says so.
func TestRejectsSayHowManyAreNoLongerKept(t *testing.T) {
	y := newQueryFixture(t)
	y.add(t, schema.Device{ID: "d1", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 10},
		Readings: y.names.Readings(), Status: schema.Active})
	var rows []tables.Entity
	for n := range 250 {
		e := tables.Entity{PartitionKey: "d1", RowKey: tables.TicksOf(y.begin.Add(time.Duration(n) * time.Second)).String()}
		e.Set("temperature", tables.String("nan"))
		rows = append(rows, e)
	}
	y.write(t, "d1", rows)
	y.fold(t)
	for _, args := range [][]string{{"d1"}, {"--tenant", "contoso"}, {"--summary"}, {"--prefix", "d", "--json"}} {
		code, out, errs := y.furrow(t, append([]string{"rejects"}, args...)...)
		if code != exitOK || !strings.Contains(errs, "d1, pipeline live: 250 rejected, the newest 100 kept") {
			t.Errorf("furrow rejects %q: exit %d, %s", args, code, errs)
		}
		if last := rows[249].RowKey; !strings.Contains(out, last) {
			t.Errorf("furrow rejects %q: the newest, %s, is not there:\n%s", args, last, out)
		}
		if args[len(args)-1] == "--json" && !strings.Contains(out, `"value":"nan"`) {
			t.Errorf("%.300s", out)
		}
	}
	_, out, _ := y.furrow(t, "rejects", "d1")
	got := csvRecords(t, out)
	if len(got) != 100 || got[0]["row"] != rows[150].RowKey || got[99]["number"] != "250" || got[0]["total"] != "250" {
		t.Errorf("%d rejects, from %v", len(got), got[0])
	}
}
