package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// TestQueriedRatesSpanBucketsAndDays: a bucket begins with the difference to the reading
// before it, also over midnight and where the span begins with it.
func TestQueriedRatesSpanBucketsAndDays(t *testing.T) {
	f := newObservedFixture(t)
	start := time.Now().UTC().Truncate(24 * time.Hour).Add(-48 * time.Hour)
	for i, id := range []schema.DeviceID{"pump-7", "pump-8"} {
		var rows []tables.Entity
		for n, minute := range []int{0, 30, 23*60 + 30, 24*60 + 30, 25*60 + 30} {
			at := start.Add(time.Duration(minute) * time.Minute)
			e := tables.Entity{PartitionKey: string(id), RowKey: tables.TicksOf(at).String()}
			e.Set("litres", tables.Double(float64((i+1)*n*n)))
			rows = append(rows, e)
		}
		f.add(newDevice(id, "contoso", 2026, 10), rows...)
	}
	f.fold()
	at := func(hours int) string { return start.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
	span := []string{"--from", at(24), "--to", at(48)}
	ask := func(args ...string) string { return f.query(append([]string{"--rate", "--format=csv"}, args...)...) }

	const head = "device,time,sensor,count,difference,hours,min,max,last,mean,lat,lon,unit,tenant\n"
	first := fmt.Sprintf("pump-7,%s,litres,1,5,1,5,5,5,5,,,,contoso\n", at(24))
	second := fmt.Sprintf("pump-7,%s,litres,1,7,1,7,7,7,7,,,,contoso\n", at(25))
	if got := ask(append(span, "pump-7")...); got != head+first+second {
		t.Errorf("by hour:\n%s", got)
	}
	if got := ask(append(span, "pump-7", "--window=1d")...); got != head+
		fmt.Sprintf("pump-7,%s,litres,2,12,2,5,7,7,6,,,,contoso\n", at(24)) {
		t.Errorf("by day:\n%s", got)
	}
	if got := ask("pump-7", "--window=1d", "--from", at(0), "--to", at(24)); got != head+
		fmt.Sprintf("pump-7,%s,litres,2,4,23.5,0.13043478260869565,2,0.13043478260869565,0.1702127659574468,,,,contoso\n",
			at(0)) {
		t.Errorf("of the first day:\n%s", got)
	}
	for _, scope := range []string{"--prefix=pump-", "--tenant=contoso"} {
		got := ask(append(span, scope)...)
		if !strings.HasPrefix(got, head+first+second+"pump-8,") || strings.Count(got, "\n") != 5 {
			t.Errorf("%s:\n%s", scope, got)
		}
	}

	const newest = "device,time,sensor,value,difference,per_hour,over_difference,over_per_hour,lat,lon,unit\n"
	want := fmt.Sprintf("%spump-7,%s,litres,16,7,7,7,7,,,\npump-8,", newest, start.Add(25*time.Hour+30*time.Minute).
		Format("2006-01-02T15:04:05.0000000Z"))
	for _, scope := range []string{"--prefix=pump-", "--tenant=contoso"} {
		if got := ask("--latest", scope); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 3 {
			t.Errorf("the newest of %s:\n%s", scope, got)
		}
	}
	got := f.query("--rate", "--latest", "--format=jsonl", "pump-7")
	if want := `"litres":{"time":"`; !strings.Contains(got, want) || !strings.Contains(got,
		`"value":16,"difference":7,"perHour":7,"over":{"difference":7,"perHour":7}}`) {
		t.Errorf("the newest as JSON: %s", got)
	}
	got = f.query(append(span, "--rate", "--format=jsonl", "--window=1d", "pump-7")...)
	if !strings.Contains(got, `"litres":{"count":2,"difference":12,"hours":2,"min":5,"max":7,"last":7,"mean":6}`) {
		t.Errorf("as JSON: %s", got)
	}
}

// TestOneReadingHasNoRate: that it was folded changes nothing.
func TestOneReadingHasNoRate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, "pipelines: [{name: live, processors: [latest, rate]}]\n")
	f.must("config apply " + file)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	_, err := f.client.Table("readings").Do(t.Context(), tables.Insert(oil("pump-7", time.Now().Add(-time.Hour), 20)))
	must(t, err)
	f.must("schedule --once --pipeline live")
	f.work()
	f.says("pump-7,", "query pump-7 --latest --format csv")
	_, errs := f.both("query pump-7 --rate --latest")
	if !strings.Contains(errs, "a worker with the processor rate has to fold two readings of a number first") {
		t.Errorf("it says %s", errs)
	}
}
