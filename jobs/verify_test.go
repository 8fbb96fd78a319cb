package jobs_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// verified counts a fleet as furrow verify does, with code that the jobs do not share, and fails the test where nothing
// explains a difference.
func verified(t testing.TB, c verify.Config, about string) {
	t.Helper()
	c.Values = true
	if c.Model == nil {
		c.Model = func(schema.Member) *verify.Model { return &verify.Model{} }
	}
	for d, err := range c.Run(t.Context()) {
		if err != nil {
			t.Error(about, err)
			return
		}
		for _, x := range d.Differences {
			if !x.Explained() {
				t.Errorf("%s, tenant %s: %v", about, d.Tenant, x)
			}
		}
	}
}

// enroll has an enrollment say how old the rows are that tokens of a fleet's devices admit.
func enroll(t testing.TB, f *jobstest.Fleet, admits time.Duration) {
	t.Helper()
	e := must.Have(schema.Enrollment{ID: "all", Tenant: "t0", Readings: f.Readings, Life: time.Hour,
		Admits: admits - sas.ClockSkew}.Entity())(t)
	f.World.Create(t, f.Names.Enrollments())
	must.Have(f.World.Connect(t, nil).Table(f.Names.Enrollments()).Do(t.Context(), tables.InsertOrReplace(e)))(t)
}

// TestRaisedBackfillExplainsRowsOfSealedDays: tokens admit older rows than when their days were sealed, and some have
// come. The next audit has the days made again, which verify knows before.
func TestRaisedBackfillExplainsRowsOfSealedDays(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.settle()
	look := func(about string) {
		t.Helper()
		verified(t, f.verification(), about)
	}
	enroll(t, f.Fleet, untold)
	look("before it")
	f.admits(13 * days)
	enroll(t, f.Fleet, 13*days)
	look("before the rows come")
	f.arrive()
	look("before an audit")
	must.Succeed(t, f.Settle(t.Context(), f.pipeline))
	look("after it")
	sameOutputs(t, f.Fleet, f.want, "the late rows are folded")
}

// TestArchiveThatDoesNotKnowOfAMoveIsExplained: the days of a device that has moved are sealed, so that no ledger says
// how many rows were folded, and its pipeline has not looked at the membership since.
func TestArchiveThatDoesNotKnowOfAMoveIsExplained(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newKeptFleet(t, 1)
	f.settle()
	look := func(about string) {
		t.Helper()
		for _, c := range f.verifications(nil) {
			verified(t, c, about)
		}
	}
	look("before")
	moveAgo(t, f.Fleet, f.World.Devices[0], "t2", 10)
	look("after the move")
	must.Succeed(t, f.Settle(t.Context(), f.archiving(nil)))
	look("before the days are made again")
	must.Succeed(t, file(t.Context(), f.archiving(nil)))
	look("in the end")
}

// TestBackfillRaisedMeanwhileExplainsRowsOfSealedDays: the rows come after verify has read the enrollments.
func TestBackfillRaisedMeanwhileExplainsRowsOfSealedDays(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.settle()
	enroll(t, f.Fleet, untold)
	var once sync.Once
	c := f.verification()
	c.Client = f.World.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, f.Names.Enrollments()) {
			once.Do(func() {
				f.admits(13 * days)
				enroll(t, f.Fleet, 13*days)
				f.arrive()
			})
		}
		return http.DefaultClient.Do(r)
	}))
	verified(t, c, "while it looks")
}

// verification returns what verifies the fleet.
func (f *admittingFleet) verification() verify.Config {
	now := tables.TicksOf(time.Now()).Floor(tables.Day)
	return verify.Config{Client: f.pipeline.Client, Names: f.Names, Pipelines: []verify.Pipeline{{Name: "live",
		Settle: 10 * time.Second, Settings: func(schema.Member) string { return "" },
		Outputs: []verify.Output{verify.Latest{}, verify.Rollup{
			Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}}}}, From: now - 30*tables.Day,
		To: now + 2*tables.Day}
}

// TestRetentionAndMovesMeanwhileAreNoDifference: rows are deleted, or belong to another tenant, after verify has read
// the memberships and before it reads the rows.
func TestRetentionAndMovesMeanwhileAreNoDifference(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for name, happen := range map[string]func(*keptFleet){
		"retention": func(f *keptFleet) {
			must.Succeed(t, f.Drain(t.Context(), f.retention(nil, func() time.Duration { return 9 * days })))
		},
		"a move": func(f *keptFleet) { moveAgo(t, f.Fleet, f.World.Devices[0], "t2", 10) }} {
		for _, before := range []string{"the readings", "the catalog", "a file"} {
			f := newKeptFleet(t, 1)
			f.settle()
			var once sync.Once
			do := func() { once.Do(func() { happen(f) }) }
			for _, c := range f.verifications(faults.Func(func(r *http.Request) (*http.Response, error) {
				if before == "the readings" && strings.Contains(r.URL.Path, "/"+f.Readings) ||
					before == "the catalog" && strings.Contains(r.URL.RawQuery, "f%21") {
					do()
				}
				return http.DefaultClient.Do(r)
			})) {
				if c.Archive == nil {
					continue
				}
				read := c.Archive.Read
				c.Archive.Read = func(ctx context.Context, of schema.Tenant, name string) ([]byte, error) {
					if before == "a file" {
						do()
					}
					return read(ctx, of, name)
				}
				verified(t, c, name+" before verify reads "+before)
			}
			do = func() { t.Errorf("%s before verify reads %s has not happened", name, before) }
			once.Do(do)
		}
	}
}

// verify verifies each pipeline of a life.
func (l *weeks) verify(when string) {
	l.t.Helper()
	enroll(l.t, l.Fleet, l.admits)
	for _, c := range l.verifications(l.clocked(nil)) {
		l.withoutFutureArchive(&c)
		verified(l.t, c, when+", "+string(c.Pipelines[0].Name))
	}
}

// withoutFutureArchive leaves out the archive where storage's clock has been ahead: its files say that they have the
// rows that were there by then, and rows have the time of the test.
func (l *weeks) withoutFutureArchive(c *verify.Config) {
	if l.future {
		c.Archive = nil
	}
}

// verifications returns what verifies each pipeline of a fleet, under its own settings.
func (f *keptFleet) verifications(through policy.Transporter) (all []verify.Config) {
	f.t.Helper()
	for _, p := range f.pipelines(nil) {
		c := verify.Config{Client: f.World.Connect(f.t, through), Names: f.Names,
			From: tables.TicksOf(time.Now().Add(-(lifeDays + 5) * days)).Floor(tables.Day),
			To:   tables.TicksOf(time.Now().Add(3 * days)).Floor(tables.Day)}
		of := verify.Pipeline{Name: p.Name, Settle: p.Settle, Settings: func(schema.Member) string { return p.Settings }}
		for _, processor := range p.Processors {
			switch processor.Name {
			case latest.Processor.Name:
				of.Outputs = append(of.Outputs, verify.Latest{})
			case rollup.Processor.Name:
				of.Outputs = append(of.Outputs, verify.Rollup{Windows: windowsOf(p.Name)})
			case archive.Processor.Name:
				store := tablesOf(p).Store
				c.Archive = &verify.Archive{Pipeline: p.Name, CloseAfter: time.Second,
					Read: func(ctx context.Context, of schema.Tenant, name string) ([]byte, error) {
						content, _, err := store.Get(ctx, delta.Folder(string(of))+"/"+name)
						return content, err
					}}
			}
		}
		m := &verify.Model{Named: map[string]verify.Meaning{}}
		for name, means := range p.Sensors.Named {
			if means.Is == fold.Ignored {
				m.Named[name] = verify.Meaning{Kind: verify.Ignored}
			}
		}
		c.Model, c.Pipelines = func(schema.Member) *verify.Model { return m }, []verify.Pipeline{of}
		all = append(all, c)
	}
	return all
}

// windowsOf returns the windows of a pipeline's rollups.
func windowsOf(p schema.Pipeline) []schema.Window {
	switch p {
	case "second":
		return []schema.Window{schema.Window(30 * time.Minute)}
	case "fresh":
		return []schema.Window{schema.Window(2 * time.Hour)}
	}
	return []schema.Window{schema.Minute, schema.Hour, schema.Daily}
}

// verify verifies a device of the chain.
func (c *chain) verify(t testing.TB, names schema.Names, m schema.Member) {
	t.Helper()
	now := tables.TicksOf(time.Now())
	verified(t, verify.Config{Client: c.client, Names: names, Tenant: m.Tenant,
		Pipelines: []verify.Pipeline{{Name: "live", Settings: func(schema.Member) string { return "" },
			Outputs: []verify.Output{verify.Latest{}, verify.Rollup{Windows: []schema.Window{
				schema.Window(time.Second), schema.Minute, schema.Hour, schema.Daily}}}}},
		From: now.Floor(tables.Day) - 60*tables.Day, To: now.Floor(tables.Day) + 2*tables.Day}, string(m.Device))
}
