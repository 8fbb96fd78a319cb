package jobs_test

import (
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables/azuretest/must"
)

// TestNewestValuesFollowSettingsWhereAllRowsAreGone: retention has deleted all that a silent device has sent, and
// nothing can be folded again. Then the settings ignore a sensor.
func TestNewestValuesFollowSettingsWhereAllRowsAreGone(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 20*days, 1, 200)
	w.Insert(t, "silent", func(n int) bool { return n < 60 })
	f := w.NewFleetOf(t, "silent")
	p := f.Pipeline(t, nil)
	p.Settings = "latest:1,rollup:1"
	must.Succeed(t, f.Settle(t.Context(), p))
	must.Succeed(t, f.Drain(t.Context(), retaining(t, f, nil, p)))
	if left := rowsOf(t, f, w.Devices[0]); len(left) > 0 {
		t.Fatalf("%d rows are left", len(left))
	}
	p.Settings = "latest:2,rollup:2"
	p.Sensors.Named = map[string]fold.Meaning{"humidity": {Is: fold.Ignored}}
	must.Succeed(t, f.Settle(t.Context(), p))
	for key, values := range f.Ends(t) {
		ignored, known := strings.Contains(values, "humidity"), strings.Contains(values, "temperature")
		if strings.HasPrefix(key, "latest/") && (ignored || !known) {
			t.Errorf("%s has %s", key, values)
		}
	}
}
