package jobs_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// TestLateRequestsForAFormerTenant: a worker sends a transaction of a device and dies. The device has moved meanwhile,
// from before those rows on. The next run sees storage hours ahead, and then the transaction arrives.
func TestLateRequestsForAFormerTenant(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"right": 0, "ahead": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			start := time.Now().Add(-3 * time.Hour)
			f, _ := minutely(t, start, upTo(90, 1)...)
			withRecords(t, f)
			d := f.World.Devices[0]
			through, sent := dying(http.DefaultClient.Do)
			dead := f.Pipeline(t, through)
			if _, err := dead.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			must.Have(sas.NewRegistry(f.World.Connect(t, nil), f.Names).Move(t.Context(), sas.Move{Device: d, To: "t9",
				At: tables.TicksOf(start.Add(-time.Minute))}))(t)
			must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, later(by))))
			answer := must.Have(http.DefaultClient.Do(sent()))(t)
			must.Succeed(t, answer.Body.Close())
			for _, h := range []time.Duration{0, 90 * time.Minute, 3 * time.Hour, 6 * time.Hour} {
				must.Succeed(t, f.Settle(t.Context(), hence(t, f, f.Pipeline(t, nil), h)))
			}
			n := 0
			for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("rollups")), tables.Query{}) {
				if strings.HasPrefix(e.PartitionKey, "t0!") {
					for _, p := range e.Properties {
						if !strings.HasPrefix(p.Name, "_") {
							n++
							break
						}
					}
				}
			}
			if n > 0 {
				t.Errorf("%d: the former tenant t0 has %d buckets of t9's readings", answer.StatusCode, n)
			}
		})
	}
}
