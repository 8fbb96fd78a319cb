package estimate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
)

// minutely is a configuration with one pipeline.
func minutely(t *testing.T) *config.Config {
	t.Helper()
	c := config.Default()
	c.Pipelines = c.Pipelines[:1]
	return c
}

// counted counts the operations of runs in which each device has a new reading.
type counted struct {
	mu  sync.Mutex
	all map[string]float64
}

func (c *counted) add(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[kind]++
}

// Put counts a message, and keeps it.
func (c *counted) put(l *jobstest.Line) putter { return putter{c, l} }

type putter struct {
	*counted
	line *jobstest.Line
}

func (p putter) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	p.add("queues put")
	return p.line.Put(ctx, m, delay)
}

// TestEstimateAgreesWithCountedOperations has the engine do runs of three fleets, and counts what it asks of storage.
func TestEstimateAgreesWithCountedOperations(t *testing.T) {
	t.Parallel()
	const runs, sensors = 2, 6
	for _, devices := range []int{15, 60, 130} {
		t.Run(fmt.Sprint(devices), func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 48*time.Hour, devices, 0)
			f := w.NewFleet(t)
			c := &counted{all: map[string]float64{}}
			client := must.Have(tables.Connect(tables.Config{Account: w.Account,
				OnOperation: func(_ context.Context, o tables.Operation) { c.add("tables " + o.Kind.String()) }}))(t)
			p := must.Have(minutely(t).Pipelines[0].Build(client, f.Names, nil))(t)
			w.Create(t, f.Names.Runs())
			began := time.Now().Add(-20 * time.Minute).Truncate(time.Minute)
			for n := range runs + 1 {
				if n == 1 { // the first run finds the past, and begins the audits
					c.all = map[string]float64{}
				}
				at := began.Add(time.Duration(n) * time.Minute)
				var all []tables.Entity
				for _, d := range w.Devices {
					_, e := Fleet{Sensors: sensors}.reading(at)
					e.PartitionKey = string(d)
					all = append(all, e)
				}
				jobstest.Insert(t, w.Connect(t, nil).Table(w.Readings), all...)
				oneRun(t, c, p, client, f.Names, tables.TicksOf(at))
			}
			for kind := range c.all {
				c.all[kind] /= runs
			}
			e := must.Have(Of(Fleet{Devices: devices, Every: time.Minute, Sensors: sensors, Tenants: 2, Months: 1},
				minutely(t)))(t)
			mustAgree(t, e.Pipelines[0].Operations, c.all)
		})
	}
}

// oneRun does what the scheduler and the workers do for a slot.
func oneRun(t *testing.T, c *counted, p *jobs.Pipeline, client *tables.Client, names schema.Names, slot tables.Ticks) {
	t.Helper()
	r := worker.Runs{Table: client.Table(names.Runs())}
	must.Succeed(t, r.Take(t.Context(), schema.Run{Pipeline: p.Name, Slot: slot}))
	l := &jobstest.Line{}
	put := c.put(l)
	must.Succeed(t, put.Put(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: slot}, 0))
	must.Succeed(t, r.MarkEnqueued(t.Context(), schema.Run{Pipeline: p.Name, Slot: slot}, slot))
	for m, _, ok := l.Take(); ok; m, _, ok = l.Take() {
		r, err := p.Do(t.Context(), m, put, func(context.Context, jobs.Message) error { c.add("queues update"); return nil })
		if err != nil || len(r.Failed) > 0 {
			t.Fatalf("%+v: %v, %v", m, err, r.Failed)
		}
		c.add("queues delete")
	}
}

// mustAgree compares by service, within 5 %, and says what each kind is.
func mustAgree(t *testing.T, estimated, counted map[string]float64) {
	t.Helper()
	for _, service := range []string{"tables ", "queues "} {
		got, want := 0.0, 0.0
		for kind, n := range estimated {
			if strings.HasPrefix(kind, service) {
				got += n
			}
		}
		for kind, n := range counted {
			if strings.HasPrefix(kind, service) {
				want += n
			}
		}
		if math.Abs(got-want) > want/20 {
			t.Errorf("%soperations: %.1f estimated, %.1f counted", service, got, want)
		}
	}
	t.Logf("estimated %v", estimated)
	t.Logf("counted   %v", counted)
}
