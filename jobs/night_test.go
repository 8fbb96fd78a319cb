package jobs_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/refold"
	"furrow/jobs/rollup"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A night is a fleet whose devices rest, and whose storage has the time of the night. Devices send at the time of their
// row keys.
type night struct {
	t          testing.TB
	clock      clock
	p          *jobs.Pipeline
	devices    []schema.Member
	sensors    int                  // of each device
	looks      atomic.Int32         // requests for readings
	operations atomic.Int64         // requests in all, and three of a queue for each message
	bytes      atomic.Int64         // of requests and answers
	writes     atomic.Int32         // to the tracking table
	folded     int                  // rows, so far
	audits     bool                 // they are done, too
	noted      map[string]time.Time // when memberships were written last, by key
	dated      bool                 // storage says when that was
}

// newNight returns a fleet of devices that state an interval; zero: they state none.
func newNight(t testing.TB, devices int, every time.Duration) *night {
	t.Helper()
	return newNightOf(t, scale{devices: devices, tenants: 1, months: 1, sensors: 1}, every)
}

func newNightOf(t testing.TB, s scale, every time.Duration) *night {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	n := &night{t: t, sensors: s.sensors, noted: map[string]time.Time{}, dated: every > 0}
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: n.clock.over(n)}))(t)
	n.p = &jobs.Pipeline{Name: "live", Client: client, Format: schema.Format, Generation: 1, Every: every,
		Clock: func() time.Time { return time.Unix(n.clock.now.Load(), 0) },
		Processors: []fold.Configured{latest.Processor.Default(), rollup.Processor.Default(),
			jobstest.With(t, rules.Processor, &rules.Config{Rules: []rules.Rule{
				{Name: "silent", When: &rules.Silence{After: 45 * time.Minute}}}})}}
	for _, name := range append(processors.Tables(n.p.Names, "live"), "readings") {
		must.Succeed(t, client.Table(name).Create(t.Context()))
	}
	n.clock.set(evening)
	for i := range s.devices {
		month := schema.MonthOf(evening.AddDate(0, -(i%s.months), 0), 0)
		m := schema.Member{Month: month, Device: schema.DeviceID(fmt.Sprintf("d%06d", i)), Readings: "readings",
			Tenant: schema.Tenant(fmt.Sprint("contoso", i/s.months%s.tenants)), Enrollment: "plant1"}
		n.devices = append(n.devices, m)
		jobstest.Insert(t, client.Table(n.p.Names.Fleet()), must.Have(m.Entity())(t))
	}
	return n
}

var evening = time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)

// RoundTrip counts requests, and has every reading arrive at the time of its row key.
func (n *night) RoundTrip(r *http.Request) (*http.Response, error) {
	reads := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/readings(")
	if reads {
		n.looks.Add(1)
	}
	if r.Method != http.MethodGet && r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(body, []byte("partitionslive")) || strings.Contains(r.URL.Path, "partitionslive") {
			n.writes.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := http.DefaultClient.Do(r)
	n.operations.Add(1)
	if err == nil {
		n.bytes.Add(max(0, r.ContentLength))
		answer.Body = &countedBody{answer.Body, &n.bytes}
	}
	switch {
	case err == nil && reads:
		return jobstest.Arrived(answer)
	case err == nil && n.dated && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/fleet("):
		return jobstest.Stamped(answer, func(row string) (time.Time, error) { return n.noted[row], nil })
	}
	return answer, err
}

// A countedBody adds what is read of it to bytes: an answer in chunks does not say its length.
type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// run does a run at a time, and returns how often it asked for readings.
func (n *night) run(at time.Time) (looks int32) {
	n.t.Helper()
	n.clock.set(at.Add(2 * time.Second))
	slot, before := tables.TicksOf(at), n.looks.Load()
	run := schema.Run{Pipeline: "live", Slot: slot, Enqueued: slot}
	jobstest.Insert(n.t, n.p.Client.Table(n.p.Names.Runs()), must.Have(run.Entity())(n.t))
	line := &jobstest.Line{Queue: []jobs.Message{{Kind: jobs.Master, Pipeline: "live", Run: slot, Generation: 1}},
		Delays: []time.Duration{0}}
	for {
		m, _, more := line.Take()
		if !more {
			return n.looks.Load() - before
		}
		if m.Kind == jobs.Audit && m.Audit == refold.Late && !n.audits {
			continue
		}
		n.operations.Add(3)
		text := must.Have(m.Encode())(n.t)
		m = must.Have(jobs.Decode(text))(n.t)
		r, err := n.p.Do(n.t.Context(), m, line, saveInto(&m))
		must.Succeed(n.t, err)
		for _, why := range r.Failed {
			n.t.Fatal(why)
		}
		n.folded += r.Rows
	}
}

// send has a device send a reading with a token that ends some time later; zero: it has one already.
func (n *night) send(device int, at time.Time, token time.Duration) {
	n.t.Helper()
	n.wake(device, at, token)
	n.store(device, at)
}

// wake notes a token that a device gets, if it lives for some time.
func (n *night) wake(device int, at time.Time, token time.Duration) {
	n.t.Helper()
	if token > 0 {
		n.noted[string(n.devices[device].Key())] = at
		e := n.devices[device].Waking(tables.TicksOf(at.Add(token)))
		must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(n.t.Context(), tables.Merge(e, tables.AnyETag)))(n.t)
	}
}

// store stores a reading.
func (n *night) store(device int, at time.Time) {
	n.t.Helper()
	e := tables.Entity{PartitionKey: string(n.devices[device].Device), RowKey: tables.TicksOf(at).String()}
	for i := range n.sensors {
		e.Set(fmt.Sprint("oil", i), tables.Double(180))
	}
	jobstest.Insert(n.t, n.p.Client.Table("readings"), e)
}
