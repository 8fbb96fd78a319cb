package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
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
	f := newAdmittingFleet(t, 12*days, 11*days)
	f.settle()
	look := func(about string) {
		t.Helper()
		now := tables.TicksOf(time.Now()).Floor(tables.Day)
		verified(t, verify.Config{Client: f.pipeline.Client, Names: f.Names, Pipelines: []verify.Pipeline{{Name: "live",
			Settle: 10 * time.Second, Settings: func(schema.Member) string { return "" }, Latest: true,
			Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}}, From: now - 30*tables.Day,
			To: now + 2*tables.Day}, about)
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

// verify verifies each pipeline of a life, under its own settings.
func (l *weeks) verify(when string) {
	l.t.Helper()
	enroll(l.t, l.Fleet, l.admits)
	c := verify.Config{Client: l.World.Connect(l.t, l.by(nil)), Names: l.Names,
		From: tables.TicksOf(time.Now().Add(-(lifeDays + 5) * days)).Floor(tables.Day),
		To:   tables.TicksOf(time.Now().Add(3 * days)).Floor(tables.Day)}
	for _, p := range l.pipelines(nil) {
		of := verify.Pipeline{Name: p.Name, Settle: p.Settle, Settings: func(schema.Member) string { return p.Settings }}
		for _, processor := range p.Processors {
			switch processor.Name {
			case latest.Processor.Name:
				of.Latest = true
			case rollup.Processor.Name:
				of.Windows = windowsOf(p.Name)
			}
		}
		m := &verify.Model{Named: map[string]verify.Meaning{}}
		for name, means := range p.Sensors.Named {
			if means.Is == fold.Ignored {
				m.Named[name] = verify.Meaning{Kind: verify.Ignored}
			}
		}
		c.Model, c.Pipelines = func(schema.Member) *verify.Model { return m }, []verify.Pipeline{of}
		verified(l.t, c, when+", "+string(p.Name))
	}
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
		Pipelines: []verify.Pipeline{{Name: "live", Settings: func(schema.Member) string { return "" }, Latest: true,
			Windows: []schema.Window{schema.Window(time.Second), schema.Minute, schema.Hour, schema.Daily}}},
		From: now.Floor(tables.Day) - 60*tables.Day, To: now.Floor(tables.Day) + 2*tables.Day}, string(m.Device))
}
