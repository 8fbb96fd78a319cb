package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRowsOfAnImportAreNotUnheard: an audit comes between the rows of an import, into a device that rests, and the run
// that folds them. Nobody has written them with the account's key.
func TestRowsOfAnImportAreNotUnheard(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		n := newNight(t, 1, 0)
		e := n.devices[0].Waking(schema.NeverAwake)
		must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
		at := evening.Add(time.Minute)
		n.run(at)
		i := schema.Import{ID: tables.TicksOf(at), From: tables.TicksOf(at.Add(-time.Hour)), To: tables.TicksOf(at)}
		if !ended {
			i.Until = tables.TicksOf(at.Add(schema.ImportLease))
		}
		must.Succeed(t, schema.Imports{i}.Set(&e))
		must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
		n.store(0, at.Add(-30*time.Minute))

		at = at.Add(time.Minute)
		n.clock.set(at)
		m := jobs.Message{Kind: jobs.Audit, Pipeline: "live", Run: tables.TicksOf(at), Audit: refold.Late,
			First: n.devices[0].Place(), Last: n.devices[0].Place(), Generation: 1}
		must.Have(n.p.Do(t.Context(), m, &jobstest.Line{}, saveInto(&m)))(t)
		notes := jobstest.Rows(t, n.p.Client.Table(n.p.Names.Runs()), tables.Query{Range: schema.UnheardRows("live")})
		if len(notes) > 0 {
			t.Errorf("an import that has ended %t: an audit notes that somebody writes its rows with the account's key", ended)
		}
		if looks := n.run(at); looks == 0 || n.folded != 1 {
			t.Errorf("the next run looks %d times, and folds %d rows", looks, n.folded)
		}
	}
}

// TestRowsThatRetentionHasLeftAreNotUnheard: a condition keeps them below the watermark of a device that a new pipeline
// begins with. Nothing folds them, and nobody has written them with the account's key.
func TestRowsThatRetentionHasLeftAreNotUnheard(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 0)
	n.store(0, evening.AddDate(0, 0, -20))
	e := n.devices[0].Waking(tables.TicksOf(evening.AddDate(0, 0, -19)))
	e.Set(schema.MemberWatermark, tables.Int64(int64(tables.TicksOf(evening.AddDate(0, 0, -9)).Floor(tables.Day))))
	must.Have(n.p.Client.Table(n.p.Names.Fleet()).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	at := evening.Add(time.Minute)
	if looks := n.run(at) + n.run(at.Add(time.Minute)); looks == 0 {
		t.Error("no run has looked at the device")
	}
	at = at.Add(2 * time.Minute)
	n.clock.set(at)
	m := jobs.Message{Kind: jobs.Audit, Pipeline: "live", Run: tables.TicksOf(at), Audit: refold.Late,
		First: n.devices[0].Place(), Last: n.devices[0].Place(), Generation: 1}
	line := &jobstest.Line{}
	must.Have(n.p.Do(t.Context(), m, line, saveInto(&m)))(t)
	notes := jobstest.Rows(t, n.p.Client.Table(n.p.Names.Runs()), tables.Query{Range: schema.UnheardRows("live")})
	if len(notes) > 0 || len(line.Queue) > 0 {
		t.Errorf("an audit puts %d jobs, and notes %d enrollments", len(line.Queue), len(notes))
	}
}
