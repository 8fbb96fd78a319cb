package verify_test

import (
	"context"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/worker/verify"
)

// TestWorkersMayGoOn: while jobs fold row after row, a device that was read in the middle of that is looked at again,
// and nothing unexplained is reported. In the end, nothing differs.
func TestWorkersMayGoOn(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	for _, id := range f.World.Devices {
		var all []tables.Op
		for n := range rowsOfDevice {
			e := tables.Entity{PartitionKey: string(id), RowKey: (f.at(n) + 3*tables.Hour).String()}
			e.Properties = plain(0, n)
			all = append(all, tables.Insert(e))
		}
		for _, ops := range must.Have(tables.Cut(all))(t) {
			must.Have(f.client().Table(f.Readings).Submit(t.Context(), ops))(t)
		}
	}
	f.ahead += 3 * time.Hour
	end := f.first.Time().Add(6 * time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done, ran := make(chan error), make(chan struct{})
	f.config.Pause = func() { <-ran } // a run ends, or all have
	go func() {                       // one run after the other, with a row or two each
		defer close(done)
		defer close(ran)
		for at := f.at(rowsOfDevice).Time(); at.Before(end) && ctx.Err() == nil; at = at.Add(2 * time.Minute) {
			p := f.pipeline()
			p.Settle = time.Since(at) + f.ahead
			if _, err := p.Run(ctx, f.Batch); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
			select {
			case ran <- struct{}{}:
			default:
			}
		}
	}()
	f.config.Pipelines[0].Settle = f.ahead // by what rows are late
	again := 0
	for folding := true; folding; {
		select {
		case err := <-done:
			must.Succeed(t, err)
			folding = false
		default:
		}
		for d, err := range f.config.Run(t.Context()) {
			must.Succeed(t, err)
			again += d.Looks - 1
			if found := unexplained(d.Differences); len(found) > 0 {
				t.Fatalf("after %d looks:\n%s", d.Looks, text(found))
			}
		}
	}
	t.Logf("devices were looked at again %d times", again)
	all, _ := f.found()
	for _, d := range all {
		if d.Reason != verify.NotDue && d.Device != "" {
			t.Error(d)
		}
	}
}
