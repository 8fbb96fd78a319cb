package jobs_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A deadPut is a worker that dies when it puts its first message.
type deadPut struct{}

var errDead = errors.New("the worker is dead")

func (deadPut) Put(context.Context, jobs.Message, time.Duration) error { return errDead }

// TestWorkerThatDiesBeforeItsPutDelaysNoDevice: it has committed a mark, and nobody has the mark's message. The next
// job puts that message, and does not wait for the mark to expire.
func TestWorkerThatDiesBeforeItsPutDelaysNoDevice(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *jobstest.Fleet, *jobs.Pipeline) jobs.Message{
		"a chain begins": func(_ *testing.T, f *jobstest.Fleet, _ *jobs.Pipeline) jobs.Message { return f.Message() },
		"a chain goes on": func(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) jobs.Message {
			l := &jobstest.Line{}
			jobstest.Do(t, p, f.Message(), l)
			return l.Queue[0]
		},
		"settings have changed": func(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) jobs.Message {
			must.Succeed(t, f.Drain(t.Context(), p))
			p.Settings = "latest:2,rollup:2"
			return f.Message()
		},
		"a refold goes on": func(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) jobs.Message {
			must.Succeed(t, f.Drain(t.Context(), p))
			return rewind(t, f, p, time.Time{})
		},
		"an audit leaves late rows": func(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) jobs.Message {
			f.World.Insert(t, "unserved", func(n int) bool { return n != 5 })
			f.Readings = "unserved"
			*f = *f.World.NewFleetOf(t, "unserved")
			p.Names = f.Names
			must.Succeed(t, f.Drain(t.Context(), p))
			f.World.Insert(t, "unserved", func(n int) bool { return n == 5 })
			p.Portion, p.Most = 3, 3
			return f.Audit(refold.Full)
		},
		"the backfill was raised": func(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline) jobs.Message {
			admits := 24 * time.Hour
			p.Admits = func(schema.EnrollmentID) time.Duration { return admits }
			must.Succeed(t, f.Drain(t.Context(), p))
			_, err := p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil) // cuts the ledger
			must.Succeed(t, err)
			admits = 20 * 24 * time.Hour
			return f.Audit(refold.Late)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := jobstest.NewWorldSince(t, 6*24*time.Hour, 1, 60)
			f := w.NewFleet(t)
			p := claimsHold(t, f, nil)
			p.Portion, p.Most, p.Settings = 10, 10, "latest:1,rollup:1"
			m := prepare(t, f, p)
			if _, err := p.Do(t.Context(), m, deadPut{}, nil); !errors.Is(err, errDead) {
				t.Fatalf("the worker has not died: %v", err)
			}
			m.Deaths = 1
			l := &jobstest.Line{Queue: []jobs.Message{m, m}, Delays: make([]time.Duration, 2)} // as queues do now and then
			if n := l.Work(t, p); n > 40 {
				t.Errorf("%d jobs were done", n)
			}
			wantRows(t, f, w.Devices[0], 60)
			sameAsNew(t, f)
		})
	}
}

// TestRefoldContinuesAfterAFailureOfStorage: the portion before the failing one has given the row another mark than the
// message has.
func TestRefoldContinuesAfterAFailureOfStorage(t *testing.T) {
	w := jobstest.NewWorldSince(t, 6*24*time.Hour, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	m := rewind(t, f, p, time.Now().Add(-6*24*time.Hour))
	var reads atomic.Int32
	failing := claimsHold(t, f, func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/"+f.Readings+"(") && reads.Add(1) > 1 {
			return nil, errDead
		}
		return http.DefaultClient.Do(r)
	})
	failing.Portion = 10
	l := &jobstest.Line{}
	r, err := failing.Do(t.Context(), m, l, nil)
	if err != nil || r.Refolds != 1 || len(r.Failed) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 60)
}
