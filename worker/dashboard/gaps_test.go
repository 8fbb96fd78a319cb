package dashboard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// TestGapsOfADeviceAreOnItsPageAndInTheAPI sends numbers of two days, one of them too late.
func TestGapsOfADeviceAreOnItsPageAndInTheAPI(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, Config{Loopback: true})
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	for at, n := range map[time.Duration]float64{0: 7, time.Minute: 8, 2 * time.Minute: 8, 12 * time.Hour: 12,
		12*time.Hour + time.Nanosecond*100: 0} {
		f.Send(t, "d0002", noon.Add(at), map[string]any{"fCnt": n})
	}
	f.run(t, 4)
	address := "/v1/devices/d0002/gaps?from=" + noon.Format(time.DateOnly)
	w := f.get(address)
	var a model.Gaps
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	day, next := noon.Format(time.DateOnly), noon.Add(12*time.Hour).Format(time.DateOnly)
	if len(a.Rows) != 2 {
		t.Fatalf("the answer is %+v", a)
	}
	others := [2]int64{a.Rows[0].Unnumbered, a.Rows[1].Unnumbered} // the fleet's own readings
	midnight := noon.Add(12 * time.Hour)
	missing := query.NumberGap{From: 9, To: 11, After: noon.Add(time.Minute), Before: midnight}
	want := []answers.GapDay{{Device: "d0002", Day: day, Readings: 3, Repeated: 1, First: 7, Last: 8, Made: 2,
		Unnumbered: others[0]},
		{Device: "d0002", Day: next, Readings: 2, Missing: 3, Resets: 1, First: 12, Last: 0, Made: 5, Unnumbered: others[1],
			Gaps: []query.NumberGap{missing}}}
	if !reflect.DeepEqual(a.Rows, want) || a.Sequence != "fCnt" || a.Count != 2 || a.RowsRead < 5 || a.Operations < 1 {
		t.Errorf("the answer is %+v", a)
	}
	table := fmt.Sprintf("device,day,readings,missing,repeated,resets,wraps,first,last,made,by_key,unnumbered,unsure\n"+
		"d0002,%s,3,0,1,0,0,7,8,2,0,%d,false\nd0002,%s,2,3,0,1,0,12,0,5,0,%d,false\n", day, others[0], next, others[1])
	if text := f.get(address + "&format=csv").Body.String(); text != table {
		t.Errorf("as CSV it is\n%s", text)
	}
	if page := f.get("/devices/d0002").Body.String(); !strings.Contains(page, "or in <code>fCnt</code>") ||
		!strings.Contains(page, day) || strings.Contains(page, "counts all") {
		t.Errorf("the page has no gaps:\n%s", page)
	}
	if page := f.get("/devices/d0001").Body.String(); strings.Contains(page, ">Made<") {
		t.Error("a device without sequence numbers has gaps")
	}
	if text := f.get("/v1/devices/d0001/gaps").Body.String(); !strings.Contains(text, `"rows":[]`) ||
		strings.Contains(text, "sequence") {
		t.Errorf("without sequence numbers the answer is %s", text)
	}
	if w := f.get("/v1/devices/nobody/gaps"); w.Code != 404 {
		t.Errorf("an unknown device: %d", w.Code)
	}
}

// TestNumbersInRowKeysNeedNoModel: a device that runs package sas/device has gaps and restarts on its page and in the
// API.
func TestNumbersInRowKeysNeedNoModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, Config{Loopback: true})
	f.Add(t, schema.Device{ID: "numbered", Position: &schema.Position{Lat: 50, Lon: 8}})
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	f.Send(t, "numbered", noon.Add(-time.Hour), map[string]any{"bar": 2.})
	for i, n := range []schema.Number{{Boot: "aaaaaaaa", N: 7}, {Boot: "aaaaaaaa", N: 9}, {Boot: "bbbbbbbb", N: 2}} {
		at := schema.RowKey{Ticks: tables.TicksOf(noon.Add(time.Duration(i) * time.Minute)), Suffix: n.String()}
		f.Write(t, f.Names.Readings(), tables.Entity{PartitionKey: "numbered", RowKey: at.String(),
			Properties: []tables.Property{{Name: "bar", Value: tables.Double(1)}}})
	}
	f.Fold(t)
	f.run(t, 2)
	want := []answers.GapDay{{Device: "numbered", Day: noon.Format(time.DateOnly), Readings: 3, Missing: 2, Resets: 1,
		First: 7, Last: 2, Made: 5, ByKey: 3, Unnumbered: 1, Gaps: []query.NumberGap{
			{Boot: "aaaaaaaa", From: 8, To: 8, After: noon, Before: noon.Add(time.Minute)},
			{Boot: "bbbbbbbb", From: 1, To: 1, Before: noon.Add(2 * time.Minute)}}}}
	w := f.get("/v1/devices/numbered/gaps?from=" + want[0].Day)
	var a model.Gaps
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || !reflect.DeepEqual(a.Rows, want) {
		t.Errorf("%d %s: %v", w.Code, w.Body, err)
	}
	if page := f.get("/devices/numbered").Body.String(); !strings.Contains(page, ">Completeness<") ||
		!strings.Contains(page, `<td class="n">5</td><td class="n">2</td><td class="n">4</td><td class="n">4</td>`) {
		t.Errorf("the page has no gaps:\n%s", page)
	}
}
