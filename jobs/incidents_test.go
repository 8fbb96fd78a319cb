package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A clock is storage's time in tests of rules. Every answer tells it, so that the horizons of jobs are those of the
// script, however often their work is repeated.
type clock struct{ now atomic.Int64 }

func (f *watched) now() time.Time { return time.Unix(f.clock.now.Load(), 0) }

func (c *clock) set(at time.Time) { c.now.Store(at.Unix()) }

// over returns a transport whose answers tell the clock's time.
func (c *clock) over(next http.RoundTripper) faults.Func {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Set("Date", time.Unix(c.now.Load(), 0).UTC().Format(http.TimeFormat))
		}
		return resp, err
	}
}

// RoundTrip makes an http.RoundTripper of a policy.Transporter.
type roundTripper struct{ policy.Transporter }

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.Do(r) }

// A watched fleet has rules, and a script of rounds: at each, readings arrive and jobs run until there is nothing left
// to do.
type watched struct {
	*jobstest.Fleet
	t     *testing.T
	clock *clock
}

const (
	watchedDevices = 3
	watchedRounds  = 9
)

var watchedSince = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// round is when a round is.
func round(n int) time.Time { return watchedSince.Add(time.Duration(n) * 10 * time.Minute) }

func newWatched(t *testing.T, w *jobstest.World) *watched {
	f := &watched{Fleet: w.NewFleet(t), t: t, clock: &clock{}}
	f.Readings = strings.TrimSuffix(f.Names.Fleet(), "fleet") + "watched"
	w.Create(t, f.Readings)
	client := w.Connect(t, nil)
	for _, d := range w.Devices {
		m := w.Member(d, f.Readings)
		m.Labels = map[string]string{"dose": "08:30, 09:00", "tz": "Etc/UTC"}
		must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	}
	return f
}

// arrive inserts the readings of a round: of the ten minutes before it, and some of its devices miss some.
func (f *watched) arrive(n int) {
	f.t.Helper()
	var all []tables.Entity
	for i, d := range f.World.Devices {
		if n >= 3+i && n < 6+i { // it is silent
			continue
		}
		for k := range 4 {
			at := round(n).Add(time.Duration(k*2-9) * time.Minute)
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(at).String()}
			e.Set("oil", tables.Double(float64(180+7*((n*5+k*3+i)%4))))
			e.Set("action", tables.String([...]string{"opened", "closed", "closed"}[(n*4+k+i)%3]))
			all = append(all, e)
		}
	}
	jobstest.Insert(f.t, f.World.Connect(f.t, nil).Table(f.Readings), all...)
}

func (f *watched) pipeline(through policy.Transporter) *jobs.Pipeline {
	f.t.Helper()
	next := http.RoundTripper(http.DefaultTransport)
	if through != nil {
		next = roundTripper{through}
	}
	p := f.Pipeline(f.t, f.clock.over(next))
	opened := must.Have(condition.Parse(`action == "opened"`))(f.t)
	closed := must.Have(condition.Parse(`action == "closed"`))(f.t)
	limit, rising := rules.Limit{Above: &rules.Bound{Number: 195}}, 5.0
	c := &rules.Config{Rules: []rules.Rule{
		{Name: "hot", When: &rules.Threshold{Sensor: "oil", Limit: limit},
			Notify: []schema.Target{"ops", "phone"}},
		{Name: "hot-for", When: &rules.Threshold{Sensor: "oil", Limit: limit, For: 2 * time.Minute}},
		{Name: "rising", When: &rules.Rate{Sensor: "oil", Over: 12 * time.Minute,
			Limit: rules.Limit{Above: &rules.Bound{Number: rising}}}},
		{Name: "silent", When: &rules.Silence{After: 15 * time.Minute}, Severity: rules.Critical,
			Notify: []schema.Target{"ops"}},
		{Name: "left-open", When: &rules.Condition{Where: opened, For: 3 * time.Minute}},
		{Name: "often", When: &rules.Count{Where: opened, Times: 2, Within: 20 * time.Minute}},
		{Name: "dose", When: &rules.Schedule{Times: "labels.dose", Zone: "labels.tz", Before: 5 * time.Minute,
			After: 5 * time.Minute, Expect: closed}},
	}}
	p.Processors = append(p.Processors, jobstest.With(f.t, rules.Processor, c))
	return p
}

// play plays the script, with work of each round done by do.
func (f *watched) play(do func(round int)) {
	f.t.Helper()
	for n := 1; n <= watchedRounds; n++ {
		f.arrive(n)
		f.clock.set(round(n).Add(10 * time.Second)) // the settle time
		do(n)
	}
}

// ended returns the rows of incidents and deliveries, and checks that no state keeps any of them back, and that
// targets with deliveries are awake.
func (f *watched) ended() map[string]string {
	f.t.Helper()
	ends := f.incidents()
	fold := f.pipeline(nil).Processors[2].Fold.(fold.Watcher)
	for _, d := range f.World.Devices {
		row := f.Track(f.t, d)
		state := row.Get(schema.TrackStates + "rules").Binary()
		if posts, _, err := fold.Posts(f.World.Member(d, f.Readings), state[4:]); err != nil || len(posts) > 0 {
			f.t.Errorf("%s still has %d rows to post, %v", d, len(posts), err)
		}
	}
	return ends
}

// incidents returns the rows of incidents and deliveries, and checks that targets with deliveries are awake.
func (f *watched) incidents() map[string]string {
	f.t.Helper()
	client, ends := f.World.Connect(f.t, nil), map[string]string{}
	for _, e := range jobstest.Rows(f.t, client.Table(f.Names.Output(rules.Table)), tables.Query{}) {
		if _, kind, err := schema.IncidentRowKind(e.RowKey); err != nil || kind == 'd' {
			continue // what became of a delivery is the deliver jobs' to say
		}
		ends[e.PartitionKey+"/"+e.RowKey] = fmt.Sprint(e.Properties)
	}
	f.unindex(ends)
	for _, e := range jobstest.Rows(f.t, client.Table(f.Names.Deliveries()), tables.Query{}) {
		d := must.Have(schema.DeliveryOf(e))(f.t)
		ends["delivery "+d.ID()] = fmt.Sprint(d.Transition)
		if e.PartitionKey == schema.GivenUp(d.Target) {
			continue // by a deliver job, because these fleets have no targets
		}
		pk, rk := schema.TargetKeys("live", d.Target)
		state := must.Have(client.Table(f.Names.Runs()).Get(f.t.Context(), pk, rk))(f.t)
		if due := tables.Ticks(state.Get("Due").Int()); due > tables.TicksOf(f.now()).Add(time.Hour) {
			f.t.Errorf("%s waits, and nobody has woken its target until %s", d.ID(), due.Time())
		}
	}
	return ends
}

// unindex takes out of the ends what the index of open incidents has of closed ones: a worker that slept may have added
// it after another has closed the incident. Whoever reads the index finds that out.
func (f *watched) unindex(ends map[string]string) {
	for key := range ends {
		at, row, _ := strings.Cut(key, "/")
		tenant, is := strings.CutSuffix(at, "!open")
		if !is {
			continue
		}
		number := must.Have(strconv.Atoi(row[len(row)-8:]))(f.t)
		closed := fmt.Sprintf("%s%08d", row[:len(row)-8], number+1)
		for other := range ends {
			if strings.HasPrefix(other, tenant+"!") && strings.HasSuffix(other, "/"+closed) {
				delete(ends, key)
			}
		}
	}
}

// calmIncidents returns what one worker makes of the script.
func calmIncidents(t *testing.T, w *jobstest.World) map[string]string {
	t.Helper()
	f := newWatched(t, w)
	f.play(func(int) { must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil))) })
	ends := f.ended()
	for _, rule := range []string{"hot", "hot-for", "rising", "silent", "left-open", "often", "dose"} {
		opened, closed := 0, 0
		for key, e := range ends {
			if !strings.Contains(key, "!"+rule+"!") || strings.Contains(key, "!open/") || strings.HasPrefix(key, "delivery") {
				continue
			}
			if strings.Contains(e, "opened") {
				opened++
			} else {
				closed++
			}
		}
		if opened == 0 {
			t.Errorf("rule %s opens no incident, and closes %d", rule, closed)
		}
		t.Logf("%s: opened %d, closed %d", rule, opened, closed)
	}
	delivered := 0
	for key := range ends {
		if strings.HasPrefix(key, "delivery") {
			delivered++
		}
	}
	if t.Logf("%d deliveries", delivered); delivered < 10 {
		t.Error("too few to show anything")
	}
	return ends
}

// unhappy begins trials of the whole script: a worker has trouble in the middle of it.
func unhappy(t *testing.T, w *jobstest.World) func() trial {
	want := calmIncidents(t, w)
	return func() trial {
		f := newWatched(t, w)
		const bad = 6
		f.calmly(1, bad-1)
		f.arrive(bad)
		f.clock.set(round(bad).Add(10 * time.Second))
		return trial{f.pipeline, f.Drain, func(about ...any) {
			t.Helper()
			f.calmly(bad+1, watchedRounds)
			jobstest.SameEnds(t, f.ended(), want, about...)
		}}
	}
}

// calmly plays some rounds calmly.
func (f *watched) calmly(from, to int) {
	f.t.Helper()
	for n := from; n <= to; n++ {
		f.arrive(n)
		f.clock.set(round(n).Add(10 * time.Second))
		must.Succeed(f.t, f.Drain(f.t.Context(), f.pipeline(nil)))
	}
}

func newWatchedWorld(t *testing.T) *jobstest.World {
	t.Helper()
	return jobstest.NewWorldSince(t, 2*time.Hour, watchedDevices, 10)
}

func TestEqualIncidentsWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, unhappy(t, newWatchedWorld(t)), true, faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy,
		faults.TimedOut, faults.TimedOutDone, faults.EmptyPage)
}

func TestEqualIncidentsWhereverAWorkerDiesOrSleeps(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, unhappy(t, newWatchedWorld(t)), func(n int, done, dies bool) bool {
		return n%2 == 0 == done
	})
}

// TestEqualIncidentsOfTwoWorkers has two workers with random faults do every round.
func TestEqualIncidentsOfTwoWorkers(t *testing.T) {
	t.Parallel()
	w := newWatchedWorld(t)
	want := calmIncidents(t, w)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := newWatched(t, w)
		f.play(func(n int) {
			done := make(chan error)
			for worker := range uint64(2) {
				p := f.pipeline(&faults.Transport{Plan: faults.Random{Seed: 31*seed + 2*uint64(n) + worker, Rates: someFaults()},
					Delay: 20 * time.Millisecond})
				p.Portion, p.Most = 3+int(seed%30), 7+int(seed%100)
				go func() { done <- f.Drain(t.Context(), p) }()
			}
			for range 2 {
				must.Succeed(t, <-done)
			}
			must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		})
		jobstest.SameEnds(t, f.ended(), want)
	})
}

// TestIndexHasTheIncidentsThatAreOpen compares the index with the last transition of every incident, after each round.
func TestIndexHasTheIncidentsThatAreOpen(t *testing.T) {
	t.Parallel()
	w := newWatchedWorld(t)
	f := newWatched(t, w)
	table := w.Connect(t, nil).Table(f.Names.Output(rules.Table))
	opened, closed := 0, 0
	f.play(func(n int) {
		must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		last, index := map[schema.IncidentID]schema.Transition{}, map[schema.IncidentID]int{}
		for _, e := range jobstest.Rows(t, table, tables.Query{}) {
			if _, kind, err := schema.IncidentRowKind(e.RowKey); err == nil && kind == 'd' {
				continue // what became of a delivery
			}
			one := must.Have(schema.TransitionOf(e))(t)
			switch {
			case strings.HasSuffix(e.PartitionKey, "!open"):
				index[one.ID] = one.Number
			case one.Number > last[one.ID].Number:
				last[one.ID] = one
			}
		}
		for id, one := range last {
			number, indexed := index[id]
			if indexed != one.Opens() || indexed && number != one.Number {
				t.Errorf("round %d: transition %d of %s is the last; the index has %d", n, one.Number, id, number)
			}
			delete(index, id)
			if opened++; !one.Opens() {
				closed++
			}
		}
		if len(index) > 0 {
			t.Errorf("round %d: the index has %v, which no incident has", n, index)
		}
	})
	if opened-closed < 3 || closed < 3 {
		t.Errorf("seen %d incidents, %d of them closed", opened, closed)
	}
}

// TestIdleDevicesCostNoOperationMoreWithRules counts the operations of a run in which nothing happens.
func TestIdleDevicesCostNoOperationMoreWithRules(t *testing.T) {
	w := newWatchedWorld(t)
	count := func(with bool) int32 {
		f := newWatched(t, w)
		counted := &faults.Gate{At: -1}
		p := f.pipeline(counted)
		if !with {
			p.Processors = p.Processors[:2]
		}
		f.arrive(1)
		f.clock.set(round(1).Add(time.Minute)) // what is due at the end of the round is done
		must.Succeed(t, f.Drain(t.Context(), p))
		f.clock.set(round(1).Add(time.Minute + time.Second))
		before := counted.N.Load()
		must.Have(p.Run(t.Context(), f.Batch))(t)
		return counted.N.Load() - before
	}
	without, with := count(false), count(true)
	if with != without {
		t.Errorf("a run of idle devices takes %d operations with rules; want %d as without", with, without)
	}
	t.Logf("%d operations for %d idle devices", with, watchedDevices)
}

// TestNoIncidentOfAnAttemptThatDied looks for incidents before anything was committed.
func TestNoIncidentOfAnAttemptThatDied(t *testing.T) {
	w := newWatchedWorld(t)
	f := newWatched(t, w)
	f.arrive(1)
	f.clock.set(round(1).Add(10 * time.Second))
	ctx, kill := context.WithCancel(t.Context())
	dying := watcher(func(r *http.Request, body string) error {
		if strings.Contains(r.URL.Path, "batch") && strings.Contains(body, schema.TrackCommitted) {
			kill()
			return context.Canceled
		}
		return nil
	})
	if _, err := f.pipeline(roundTrip(dying)).Run(ctx, f.Batch); err == nil {
		t.Fatal("the worker has not died")
	}
	if n := len(jobstest.Rows(t, w.Connect(t, nil).Table(f.Names.Output(rules.Table)), tables.Query{})); n > 0 {
		t.Errorf("%d rows of incidents that nobody has committed", n)
	}
}

func roundTrip(f faults.Func) policy.Transporter { return f }

// TestIncidentsAreEqualOnAnyAccount plays the script on the account of the environment.
func TestIncidentsAreEqualOnAnyAccount(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	want := calmIncidents(t, newWatchedWorld(t))
	any := jobstest.NewWorldIn(t, azuretest.FromEnv(t), 2*time.Hour, watchedDevices, 10)
	jobstest.SameEnds(t, calmIncidents(t, any), want)
}
