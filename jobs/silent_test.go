package jobs_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var silent = flag.Int("jobs.silent", 400, "how many devices TestFleetThatFallsSilentAtOnce has, at least 100")

// A herd is a fleet of many devices, whose runs are done by a few workers.
type herd struct {
	t       *testing.T
	clock   clock
	counted faults.Gate
	p       *jobs.Pipeline
	batches []jobs.Batch
}

func newHerd(t *testing.T, devices int) *herd {
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	h := &herd{t: t, counted: faults.Gate{At: -1}}
	client := must.Have(tables.Connect(tables.Config{Account: account,
		Transport: h.clock.over(roundTripper{&h.counted})}))(t)
	h.p = &jobs.Pipeline{Name: "live", Client: client, Processors: []fold.Configured{latest.Processor.Default(),
		rollup.Processor.Default(), jobstest.With(t, rules.Processor, &rules.Config{Rules: []rules.Rule{
			{Name: "silent", When: &rules.Silence{After: 15 * time.Minute}}}})}}
	for _, name := range append(processors.Tables(h.p.Names, "live"), "readings") {
		must.Succeed(t, client.Table(name).Create(t.Context()))
	}
	var members, readings []tables.Entity
	var places []schema.Place
	for n := range devices {
		m := schema.Member{Month: jobstest.Month, Device: schema.DeviceID(fmt.Sprintf("d%06d", n)), Tenant: "contoso",
			Readings: "readings"}
		members, places = append(members, must.Have(m.Entity())(t)), append(places, m.Place())
		e := tables.Entity{PartitionKey: string(m.Device), RowKey: tables.TicksOf(round(0)).String()}
		e.Set("oil", tables.Double(180))
		readings = append(readings, e)
	}
	h.clock.set(round(0).Add(time.Minute))
	jobstest.Insert(t, client.Table(h.p.Names.Fleet()), members...)
	jobstest.Insert(t, client.Table("readings"), readings...)
	for b := range slices.Chunk(places, 50) {
		h.batches = append(h.batches, jobs.Batch{First: b[0], Last: b[len(b)-1]})
	}
	return h
}

// run does the device jobs of a run, and returns how many operations it took.
func (h *herd) run(at time.Time) int32 {
	h.t.Helper()
	h.clock.set(at)
	before := h.counted.N.Load()
	todo, failed := make(chan jobs.Batch), make(chan error, len(h.batches))
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for b := range todo {
				r, err := h.p.Run(context.WithoutCancel(h.t.Context()), b)
				for _, why := range r.Failed {
					err = why
				}
				if err != nil {
					failed <- err
				}
			}
		})
	}
	for _, b := range h.batches {
		todo <- b
	}
	close(todo)
	workers.Wait()
	close(failed)
	must.Succeed(h.t, <-failed)
	return h.counted.N.Load() - before
}

// incidents counts the incidents that opened, and those in the index of open ones.
func (h *herd) incidents() (opened, index int) {
	h.t.Helper()
	for _, e := range jobstest.Rows(h.t, h.p.Client.Table(h.p.Names.Output(rules.Table)), tables.Query{}) {
		if strings.HasSuffix(e.PartitionKey, "!open") {
			index++
		} else {
			opened++
		}
	}
	return opened, index
}

// TestFleetThatFallsSilentAtOnce has all devices of a fleet fall silent in the same run. All incidents open in the next
// run after the moment, in shared transactions, and idle runs cost afterwards what they did before.
func TestFleetThatFallsSilentAtOnce(t *testing.T) {
	effort.Alone(t)
	if *silent < 1000 {
		t.Parallel()
	}
	h := newHerd(t, *silent)
	first := h.run(round(0).Add(time.Minute))
	idle := h.run(round(0).Add(2 * time.Minute))
	if opened, _ := h.incidents(); opened != 0 {
		t.Fatalf("%d incidents before anything is silent", opened)
	}
	began := time.Now()
	silence := h.run(round(2))
	took := time.Since(began)
	if opened, index := h.incidents(); opened != *silent || index != *silent {
		t.Errorf("%d incidents opened, and %d are in the index; want %d", opened, index, *silent)
	}
	after := h.run(round(2).Add(time.Minute))
	again := h.run(round(3))
	if after != idle || again != idle {
		t.Errorf("idle runs take %d and %d operations with open incidents; want %d as before", after, again, idle)
	}
	t.Logf("%d devices in %d batches: %d operations with a reading each, %d idle, %d when all fall silent, in %v",
		*silent, len(h.batches), first, idle, silence, took.Round(time.Millisecond))
	if most := idle + 8*int32(len(h.batches)); silence > most {
		t.Errorf("%d operations open the incidents; want at most %d", silence, most)
	}
}
