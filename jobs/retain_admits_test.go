package jobs_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRetentionDeletesNoRowOfARaisedBackfill: workers know yet that tokens admit rows of eight days. At any moment of a
// run of retention, a device gets a token that admits 12 days, and sends a row of the days that are just deleted.
func TestRetentionDeletesNoRowOfARaisedBackfill(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	w := jobstest.NewWorldSince(t, 20*days, 1, 100)
	device, late := w.Devices[0], w.Rows[0][48] // of 10.4 days ago
	isLate := func(n int) bool { return n == 48 }
	admitted := 0
	for n, more := 0, true; more; n++ {
		readings := fmt.Sprint("raised", n)
		w.Insert(t, readings, func(n int) bool { return !isLate(n) })
		f := w.NewFleetOf(t, readings)
		withRecords(t, f)
		p := f.Pipeline(t, nil)
		must.Succeed(t, f.Settle(t.Context(), p))
		registry := sas.NewRegistry(w.Connect(t, nil), f.Names)
		record := must.Have(registry.Get(t.Context(), device))(t)
		inserted := false
		send := func() {
			if below := must.Have(registry.Admit(t.Context(), record, 12*days))(t); below <= tables.TicksBefore(late.RowKey) {
				inserted = true
				admitted++
				w.Insert(t, readings, isLate)
			}
		}
		gate := &faults.Gate{At: n, Stop: func(do func() (*http.Response, error)) (*http.Response, error) {
			send()
			return do()
		}}
		r := retaining(t, f, gate, p)
		must.Succeed(t, f.Drain(t.Context(), r))
		more = int(gate.N.Load()) > n
		r.Admits = func(schema.EnrollmentID) time.Duration { return 12 * days }
		p.Admits = r.Admits
		must.Succeed(t, f.Settle(t.Context(), p))
		must.Succeed(t, f.Drain(t.Context(), r))
		calm := w.NewFleetOf(t, "calm"+readings)
		w.Insert(t, calm.Readings, func(n int) bool { return inserted || !isLate(n) })
		must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
		jobstest.SameEnds(t, outputsOf(t, f), outputsOf(t, calm), fmt.Sprint("a token before operation ", n))
	}
	if admitted == 0 {
		t.Fatal("no token admitted the row")
	}
}
