package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A reported fleet has reports, and a script of rounds: at each, readings arrive, some of them late.
type reported struct {
	*jobstest.Fleet
	t       *testing.T
	clock   *clock
	rng     *rand.Rand
	members map[schema.DeviceID]schema.Member
	placed  map[schema.DeviceID][]placed // where devices were, one after the other
	rows    []tables.Entity              // all readings so far
	taken   map[string]bool              // their keys
	queue   *reportQueue                 // that closed buckets go to; nil: none
}

// A placed device was at a site and had a class from a time on.
type placed struct {
	from  tables.Ticks
	site  schema.Site
	class string
}

const (
	reportedRounds = 6
	reportedRound  = 25 * time.Minute
)

// reportedSince is on the day before most readings, so that a day ends.
var reportedSince = time.Date(2026, 11, 20, 22, 50, 0, 0, time.UTC)

func newReported(t *testing.T, w *jobstest.World, seed uint64) *reported {
	f := &reported{Fleet: w.NewFleet(t), t: t, clock: &clock{}, rng: rand.New(rand.NewPCG(seed, 0)),
		members: map[schema.DeviceID]schema.Member{}, placed: map[schema.DeviceID][]placed{}, taken: map[string]bool{}}
	f.Readings = strings.TrimSuffix(f.Names.Fleet(), "fleet") + "reported"
	w.Create(t, f.Readings, f.Names.Reports())
	client := w.Connect(t, nil)
	for i, d := range w.Devices {
		m := w.Member(d, f.Readings)
		m.Site = schema.Site([]string{"", "north", "south ½"}[i%3])
		m.Labels = map[string]string{"class": string("ab"[i%2])}
		f.placed[d] = []placed{{0, m.Site, m.Labels["class"]}}
		f.store(client, m)
	}
	return f
}

// store writes a membership.
func (f *reported) store(client *tables.Client, m schema.Member) {
	f.t.Helper()
	f.members[m.Device] = m
	row := must.Have(m.Entity())(f.t)
	must.Have(client.Table(f.Names.Fleet()).Do(f.t.Context(), tables.InsertOrReplace(row)))(f.t)
}

// relocate puts some devices at other sites, or gives them another class or none.
func (f *reported) relocate(now time.Time) {
	f.t.Helper()
	for _, d := range f.World.Devices {
		if f.rng.IntN(3) > 0 {
			continue
		}
		to := placed{tables.TicksOf(now), schema.Site([]string{"", "north", "south ½", "west"}[f.rng.IntN(4)]),
			[]string{"", "a", "b"}[f.rng.IntN(3)]}
		m, labels := f.members[d], map[string]string{"other": "x"}
		if to.class != "" {
			labels["class"] = to.class
		}
		m.Relocate(to.site, labels, to.from)
		f.placed[d] = append(f.placed[d], to)
		f.store(f.World.Connect(f.t, nil), m)
	}
}

// placedAt returns where a device was at a time.
func (f *reported) placedAt(d schema.DeviceID, at tables.Ticks) (is placed) {
	for _, p := range f.placed[d] {
		if p.from <= at {
			is = p
		}
	}
	return is
}

func (f *reported) at(n int) time.Time { return reportedSince.Add(time.Duration(n) * reportedRound) }

// arrive inserts the readings of a round: most of them of the time since the last one, some older.
func (f *reported) arrive(n int) {
	f.t.Helper()
	f.clock.set(f.at(n).Add(10 * time.Second))
	f.relocate(f.at(n))
	var all []tables.Entity
	for i, d := range f.World.Devices {
		if i == n%len(f.World.Devices) { // it is silent
			continue
		}
		for range 1 + f.rng.IntN(6) {
			back := time.Duration(f.rng.Int64N(int64(reportedRound)))
			if f.rng.IntN(5) == 0 {
				back = time.Duration(f.rng.Int64N(int64(f.at(n).Sub(reportedSince))))
			}
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(f.at(n).Add(-back)).String()}
			if f.taken[e.PartitionKey+e.RowKey] {
				continue
			}
			f.taken[e.PartitionKey+e.RowKey] = true
			for _, sensor := range []string{"oil", "rpm"} {
				if f.rng.IntN(4) > 0 {
					e.Set(sensor, tables.Double(float64(f.rng.IntN(1000))/8+1e6*f.rng.Float64()))
				}
			}
			e.Set("door", tables.String([]string{"open", "shut"}[f.rng.IntN(2)]))
			all = append(all, e)
		}
	}
	jobstest.Insert(f.t, f.World.Connect(f.t, nil).Table(f.Readings), all...)
	f.rows = append(f.rows, all...)
}

func (f *reported) pipeline(through policy.Transporter) *jobs.Pipeline {
	f.t.Helper()
	next := http.RoundTripper(http.DefaultTransport)
	if through != nil {
		next = roundTripper{through}
	}
	p := f.Pipeline(f.t, f.clock.over(next))
	windows := []schema.Window{schema.Hour, schema.Daily}
	by := []schema.By{schema.ByTenant, schema.BySite, "labels.class"}
	configured := must.Have(rollup.Processor.With(rollup.Processor.New(), fold.Setup{Reported: windows}))(f.t)
	p.Processors[1] = configured
	reports := &report.Reports{Client: p.Client, Names: f.Names, Windows: windows, By: by}
	if f.queue != nil {
		reports.Queue, reports.Enqueue = "reports", f.queue.put
	}
	p.Groups = map[schema.MarkKind]groups.Grouping{schema.ReportMark: reports}
	return p
}

// run does device jobs, audits and group jobs until there is nothing left to do.
func (f *reported) run(ctx context.Context, p *jobs.Pipeline) error {
	var last error
	for range 200 {
		if last = f.Settle(ctx, p); last == nil {
			last = f.group(ctx, p)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last == nil && len(f.marks()) == 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no end: %v", last)
}

// group does the month job, and the group jobs that it puts.
func (f *reported) group(ctx context.Context, p *jobs.Pipeline) (last error) {
	month := jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: tables.TicksOf(f.at(99)), Month: jobstest.Month}
	l := &jobstest.Line{Queue: []jobs.Message{month}, Delays: []time.Duration{0}}
	for n := 0; n < 1000 && ctx.Err() == nil; n++ {
		m, _, ok := l.Take()
		if !ok {
			return last
		}
		r, err := p.Do(ctx, m, l, func(context.Context, jobs.Message) error { return nil })
		for _, why := range r.Strange {
			err = why
		}
		for d := range r.Failed {
			_, err = p.Release(ctx, d)
		}
		last = errors.Join(last, err)
	}
	return errors.Join(last, ctx.Err())
}

// end lets the last buckets end.
func (f *reported) end() {
	f.t.Helper()
	f.clock.set(reportedSince.AddDate(0, 0, 3))
	must.Succeed(f.t, f.run(f.t.Context(), f.pipeline(nil)))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func newReportedWorld(t *testing.T) *jobstest.World {
	t.Helper()
	return jobstest.NewWorldSince(t, 2*time.Hour, 6, 10)
}

func TestReportsEqualTheReadings(t *testing.T) {
	t.Parallel()
	w := newReportedWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := newReported(t, w, seed)
		for n := 1; n <= reportedRounds; n++ {
			f.arrive(n)
			p := f.pipeline(nil)
			p.Portion = 3 + int(seed%30)
			if n%2 == 0 { // sometimes group jobs wait
				must.Succeed(t, f.Drain(t.Context(), p))
				continue
			}
			must.Succeed(t, f.run(t.Context(), p))
		}
		f.end()
		f.check()
	})
}

// TestOpenBucketsAreReported reads reports before their buckets have ended.
func TestOpenBucketsAreReported(t *testing.T) {
	w := newReportedWorld(t)
	f := newReported(t, w, 1)
	f.arrive(1)
	f.clock.set(f.at(1).Add(6 * time.Minute))
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	f.check()
}

// unhappyReports begins trials in which a worker has trouble in the middle of the script: with device and group jobs,
// and with late rows.
func unhappyReports(t *testing.T, seed uint64) func() trial {
	w := jobstest.NewWorldSince(t, 2*time.Hour, 2, 10)
	return func() trial {
		f := newReported(t, w, seed)
		f.arrive(3)
		must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
		f.arrive(4)
		return trial{f.pipeline, f.run, func(about ...any) {
			t.Helper()
			f.end()
			f.check(append(about, ": ")...)
		}}
	}
}

func TestEqualReportsWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, unhappyReports(t, 1), true, faults.AnswerLost, faults.Twice, faults.Cut,
		faults.ServerBusy, faults.TimedOut, faults.TimedOutDone, faults.EmptyPage)
}

func TestEqualReportsWhereverAWorkerDiesOrSleeps(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, unhappyReports(t, 2), func(n int, done, dies bool) bool {
		return n%4 == number(done)+2*number(dies)
	})
}

// TestEqualReportsOfTwoWorkers has two workers with random faults do every round, each also its group jobs, with their
// failures. In the end one does what is left.
func TestEqualReportsOfTwoWorkers(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 2*time.Hour, 3, 10)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := newReported(t, w, seed)
		for n := 1; n <= reportedRounds; n++ {
			f.arrive(n)
			done := make(chan error)
			for worker := range uint64(2) {
				p := f.pipeline(&faults.Transport{Plan: faults.Random{Seed: 31*seed + 2*uint64(n) + worker, Rates: someFaults()},
					Delay: 20 * time.Millisecond})
				p.Portion, p.Most = 3+int(seed%30), 7+int(seed%100)
				go func() {
					err := f.Drain(t.Context(), p)
					for range 3 {
						_ = f.group(t.Context(), p)
					}
					done <- err
				}()
			}
			for range 2 {
				must.Succeed(t, <-done)
			}
		}
		f.end()
		f.check()
	})
}

// TestChangedGroupsAreReportedOfATenantThatLeft removes all devices of a tenant, and keeps their data.
func TestChangedGroupsAreReportedOfATenantThatLeft(t *testing.T) {
	t.Parallel()
	w := newReportedWorld(t)
	f := newReported(t, w, 1)
	f.arrive(1)
	f.clock.set(reportedSince.AddDate(0, 0, 3))
	p := f.pipeline(nil)
	p.Groups[schema.ReportMark].(*report.Reports).By = []schema.By{schema.ByTenant}
	must.Succeed(t, f.run(t.Context(), p))
	fleet := w.Connect(t, nil).Table(f.Names.Fleet())
	for _, m := range f.members {
		if m.Tenant == "t1" {
			must.Have(fleet.Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)))(t)
		}
	}
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	f.check()
}

// TestRolledBackGroupsAreReported: a job dies when it has made some of the reports by other groups. Then the former
// groups are configured again.
func TestRolledBackGroupsAreReported(t *testing.T) {
	t.Parallel()
	w := newReportedWorld(t)
	f := newReported(t, w, 1)
	f.arrive(1)
	f.clock.set(reportedSince.AddDate(0, 0, 3))
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	p := f.pipeline(nil)
	dies := &dyingReports{p.Groups[schema.ReportMark].(*report.Reports), 1}
	dies.By = []schema.By{schema.ByTenant}
	p.Groups[schema.ReportMark] = dies
	if err := f.group(t.Context(), p); !errors.Is(err, errDead) {
		t.Fatalf("the job by other groups: %v", err)
	}
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	f.check()
}

// dyingReports make a few reports.
type dyingReports struct {
	*report.Reports
	left int
}

func (r *dyingReports) Make(ctx context.Context, marks []schema.Mark) error {
	if r.left--; r.left < 0 {
		return errDead
	}
	return r.Reports.Make(ctx, marks)
}
