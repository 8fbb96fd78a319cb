package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

const contoso = "DefaultEndpointsProtocol=http;AccountName=contoso;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:2/contoso"

func TestTargetsCanBeNamed(t *testing.T) {
	t.Setenv("FURROW_TEST_TARGET", contoso)
	for text, want := range map[string]struct{ name, start, table string }{
		"local":                              {"local", Local, ""},
		"null":                               {"null", Null, ""},
		"ceiling=null":                       {"ceiling", Null, ""},
		"UseDevelopmentStorage=true":         {"devstoreaccount1", "", "http://127.0.0.1:10002/devstoreaccount1"},
		"azurite=UseDevelopmentStorage=true": {"azurite", "", "http://127.0.0.1:10002/devstoreaccount1"},
		contoso:                              {"contoso", "", "http://127.0.0.1:2/contoso"},
		"a-1=" + contoso:                     {"a-1", "", "http://127.0.0.1:2/contoso"},
		"env:FURROW_TEST_TARGET":             {"contoso", "", "http://127.0.0.1:2/contoso"},
		"x=env:FURROW_TEST_TARGET":           {"x", "", "http://127.0.0.1:2/contoso"},
	} {
		got, err := ParseTarget(text)
		if err != nil || got.Name != want.name || got.Start != want.start || got.Account.Table != want.table {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

func TestEntitiesHaveTheSizeAskedFor(t *testing.T) {
	fill := newFiller()
	seen := map[string]bool{}
	for _, size := range []int{MinSize, 250, 1000, MaxSize} {
		for _, seed := range []int64{0, 1, 99, ticksNow(), 1<<63 - 1} {
			entity := fill.reading(partition(999_999), rowKey(seed), seed, size)
			var read map[string]any
			if err := json.Unmarshal(entity, &read); err != nil {
				t.Fatalf("%s: %v", entity, err)
			}
			if len(entity) != size || read["RowKey"] != rowKey(seed) {
				t.Errorf("of %d bytes asked for, there are %d: %s", size, len(entity), entity)
			}
			seen[string(entity)] = true
		}
	}
	if len(seen) != 20 {
		t.Errorf("%d of 20 entities differ", len(seen))
	}
}

func TestRowKeysAreTicks(t *testing.T) {
	now := time.Now().UTC()
	since := time.Duration(ticksNow()-time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix()*1e7-621355968000000000) * 100
	if got := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(since); got.Before(now.Add(-time.Second)) || got.After(now.Add(time.Minute)) {
		t.Errorf("the ticks of %v are those of %v", now, got)
	}
}

func TestReadsFindAsManyRowsAsTheyAskFor(t *testing.T) {
	for _, rows := range []int{100, 1000, 1100, 10_000} {
		d := &dataset{rows: rows}
		for range 10_000 {
			device, row := d.somewhere(perRange)
			there := min(rowsPerDevice, rows-device*rowsPerDevice)
			if device < 0 || row < 0 || row+perRange > there {
				t.Fatalf("of %d rows, it reads device %d from %d on, which has %d", rows, device, row, there)
			}
		}
	}
}

func TestSizesOfOneWorkloadFollowEachOther(t *testing.T) {
	var got []string
	for _, s := range (Config{Workloads: []string{"insert", "range"}, TableRows: []int{100, 200}}).plan() {
		got = append(got, s.title())
	}
	if want := []string{"insert", "range, 100 rows", "range, 200 rows"}; !slices.Equal(got, want) {
		t.Errorf("the plan is %q, want %q", got, want)
	}
}

func TestNamesAreThoseOfTheRows(t *testing.T) {
	names, abouts := Names()
	for i, name := range names {
		if abouts[i] == "" || strings.Contains(name, "/") || slices.Index(names, name) != i {
			t.Errorf("row %q, about %q", name, abouts[i])
		}
	}
}
