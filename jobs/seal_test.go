package jobs_test

import (
	"net/http"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestAuditSealsTheDaysOfItsDevicesTogether: a claim and a commit for all of them. One whose row changes meanwhile is
// sealed, too, and so are the others.
func TestAuditSealsTheDaysOfItsDevicesTogether(t *testing.T) {
	t.Parallel()
	const devices = 5
	w := jobstest.NewWorldSince(t, 30*24*time.Hour, devices, 120)
	w.Insert(t, "sealed", func(int) bool { return true })
	for name, beside := range map[string]bool{"calm": false, "beside a commit": true} {
		t.Run(name, func(t *testing.T) {
			f := w.NewFleetOf(t, "sealed")
			calm := f.Pipeline(t, nil)
			must.Succeed(t, f.Drain(t.Context(), calm))
			writes := 0
			p := f.Pipeline(t, faults.Func(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPost {
					if writes++; writes == 1 && beside {
						m := w.Member(w.Devices[2], "sealed")
						e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
						e.Set(schema.TrackBatchRows, tables.Int32(7))
						must.Have(calm.Client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
					}
				}
				return http.DefaultClient.Do(r)
			}))
			r, err := p.Do(t.Context(), f.Audit(refold.Late), jobstest.NoPut{}, nil)
			if err != nil || len(r.Failed) > 0 || r.Late != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, d := range w.Devices {
				if row := f.Track(t, d); row.Get(schema.TrackLedgerFrom).Int() == 0 {
					t.Errorf("no day of %s is sealed", d)
				}
			}
			row := f.Track(t, w.Devices[2])
			if beside && row.Get(schema.TrackBatchRows).Int() != 7 {
				t.Error("what was written beside is gone")
			}
			if !beside && writes != 2 {
				t.Errorf("%d transactions for %d devices", writes, devices)
			}
		})
	}
}
