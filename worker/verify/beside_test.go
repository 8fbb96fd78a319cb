package verify_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
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

// TestStoppedJobIsInFlight: a worker is told to stop when a job has written outputs and not yet moved the checkpoint.
func TestStoppedJobIsInFlight(t *testing.T) {
	f := newFixture(t, fold.Sensors{}, plain)
	device := string(f.member().Device)
	for n := range 5 {
		e := tables.Entity{PartitionKey: device, RowKey: (f.at(n) + 3*tables.Hour).String()}
		e.Properties = plain(0, n)
		f.put(f.Readings, e)
	}
	f.ahead += 4 * time.Hour
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	later := f.laterBy()
	p := f.pipeline()
	p.Client = f.World.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			body := must.Have(io.ReadAll(r.Body))(t)
			if r.Body = io.NopCloser(bytes.NewReader(body)); bytes.Contains(body, []byte(`"`+schema.TrackCheckpoint+`"`)) {
				stop()
				return nil, context.Canceled
			}
		}
		return later.Do(r)
	}))
	if _, err := p.Run(ctx, f.Batch); err == nil {
		t.Fatal("the job was not stopped")
	}
	inFlight := 0
	f.config.Client = f.later()
	for d, err := range f.config.Run(t.Context()) {
		must.Succeed(t, err)
		if strange := unexplained(d.Differences); len(strange) > 0 {
			t.Error(text(strange))
		}
		for _, x := range d.Differences {
			if x.Reason == verify.InFlight && strings.HasPrefix(x.Output, "rollups") {
				inFlight++
			}
		}
	}
	if inFlight == 0 {
		t.Error("no output is in flight")
	}
}
