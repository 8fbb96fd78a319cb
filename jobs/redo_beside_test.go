package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestRowsFoldedBesideARedoStay: an audit makes the day of the checkpoint again, in a pipeline without windows, and
// meanwhile a job folds new rows of that day. One of them has the time of the last row before: a device may send a row
// for each sensor.
func TestRowsFoldedBesideARedoStay(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-time.Hour)
	for at, reached := 0, true; reached; at++ {
		f, _ := minutely(t, start, upTo(20, 5)...)
		p := f.Pipeline(t, nil)
		s := settings()[1]
		s.apply(t, p)
		must.Succeed(t, f.Drain(t.Context(), p))
		s.kinds = map[string]fold.SensorKind{"door_open": fold.Ignored}
		s.apply(t, p)
		jobstest.Do(t, p, f.Message(), jobstest.NoPut{}) // the day is to be made again
		reached = false
		beside := func(do func() (*http.Response, error)) (*http.Response, error) {
			reached = true
			answer, err := do()
			send(t, f, 2, func(n int) tables.Entity {
				e := temperature(start.Add(time.Duration(15+n)*time.Minute), 1)
				if n == 0 {
					e.RowKey += "-pressure"
					e.Properties[0].Name = "pressure"
				}
				return e
			})
			jobstest.Do(t, p, f.Message(), jobstest.NoPut{})
			return answer, err
		}
		again := f.Pipeline(t, &faults.Gate{At: at, Stop: beside})
		s.apply(t, again)
		jobstest.Do(t, again, f.Audit(refold.Full), jobstest.NoPut{})
		must.Succeed(t, f.Settle(t.Context(), p))
		row := f.Track(t, f.World.Devices[0])
		if late := row.Get("Late").Int(); late != 0 {
			t.Errorf("beside operation %d, %d rows count as late", at, late)
		}
		s.sameAsNew(t, f)
	}
}
