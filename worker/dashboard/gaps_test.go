package dashboard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/worker/dashboard/model"
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
	want := []model.GapDay{{Day: day, Readings: 3, Repeated: 1, First: 7, Last: 8},
		{Day: next, Readings: 2, Missing: 3, Resets: 1, First: 12, Last: 0}}
	if !slices.Equal(a.Rows, want) || a.Sequence != "fCnt" || a.Count != 2 || a.RowsRead < 5 || a.Operations < 1 {
		t.Errorf("the answer is %+v", a)
	}
	if text := f.get(address + "&format=csv").Body.String(); text !=
		"day,readings,missing,repeated,resets,wraps,first,last\n"+day+",3,0,1,0,0,7,8\n"+next+",2,3,0,1,0,12,0\n" {
		t.Errorf("as CSV it is\n%s", text)
	}
	if page := f.get("/devices/d0002").Body.String(); !strings.Contains(page, "Gaps in <code>fCnt</code>") ||
		!strings.Contains(page, day) || strings.Contains(page, "counts all") {
		t.Errorf("the page has no gaps:\n%s", page)
	}
	if page := f.get("/devices/d0001").Body.String(); strings.Contains(page, "Sequence numbers") {
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
