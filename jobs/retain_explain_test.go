package jobs_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An explainedFleet has a device for each cause for which readings stay.
type explainedFleet struct {
	*jobstest.Fleet
	t     *testing.T
	live  *jobs.Pipeline
	until map[schema.DeviceID]int // rows from so many days ago on stay
	next  int
}

// device returns the next device, whose rows are to stay from so many days ago on; 0: all of them.
func (f *explainedFleet) device(days int) schema.Member {
	d := f.World.Devices[f.next]
	f.next++
	f.until[d] = days
	return f.World.Member(d, f.Readings)
}

// set changes the tracking row that a pipeline has of a device.
func (f *explainedFleet) set(p *jobs.Pipeline, m schema.Member, values map[string]tables.Value) {
	f.t.Helper()
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	for name, value := range values {
		e.Set(name, value)
	}
	f.merge(f.Names.Partitions(p.Name), e)
}

func (f *explainedFleet) merge(table string, e tables.Entity) {
	f.t.Helper()
	to, op := f.World.Connect(f.t, nil).Table(table), tables.Insert(e)
	if _, err := to.Get(f.t.Context(), e.PartitionKey, e.RowKey); err == nil {
		op = tables.Merge(e, tables.AnyETag)
	}
	must.Have(to.Do(f.t.Context(), op))(f.t)
}

// TestExplainedReadingsStayForTheirCause: of each device, a job deletes as many readings as were explained, and none
// from where they were said to stay.
func TestExplainedReadingsStayForTheirCause(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	fleet, live := fleetOfDays(t, 28, 40)
	f := &explainedFleet{fleet, t, live, map[schema.DeviceID]int{}, 0}
	live.Groups = filing(t, f.Fleet, nil).Groups
	fresh := filing(t, f.Fleet, nil)
	fresh.Name, fresh.Groups = "fresh", nil
	f.World.Create(t, f.Names.Partitions(fresh.Name))
	r := retaining(t, f.Fleet, nil, live, fresh)
	// The first half of the devices has tenant t0, whose archive lacks a day.
	r.Retention.Archived = func(_ context.Context, _ schema.Month, of schema.Tenant, day schema.Day) (bool, error) {
		return of != "t0" || day < dayAgo(15), nil
	}
	f.next = 14 // devices of t1
	want := map[schema.DeviceID]retain.Cause{f.World.Devices[0]: retain.CauseArchive}
	f.until[f.World.Devices[0]] = 15
	all := tables.TicksOf(time.Now()).String()
	folded := func(m schema.Member) { // by the pipeline that is new, and audited as far as tokens reach
		f.set(fresh, m, map[string]tables.Value{schema.TrackCheckpoint: tables.String(all),
			schema.TrackLedgerFrom: tables.Int64(int64(ago(8)))})
	}
	add := func(c retain.Cause, days int, do func(schema.Member)) {
		m := f.device(days)
		if want[m.Device] = c; c != retain.CauseBehind && c != retain.CauseHeld && c != retain.CauseWindow {
			folded(m)
		}
		do(m)
	}
	soon := tables.DateTime(tables.TicksOf(time.Now().Add(time.Minute)))
	add("", 9, func(schema.Member) {})
	add(retain.CauseBehind, 0, func(schema.Member) {})
	add(retain.CauseBehind, 14, func(m schema.Member) {
		f.set(fresh, m, map[string]tables.Value{schema.TrackCheckpoint: tables.String(ago(14).String()),
			schema.TrackLedgerFrom: tables.Int64(int64(ago(14)))})
	})
	add(retain.CauseHeld, 0, func(m schema.Member) {
		f.set(fresh, m, map[string]tables.Value{schema.TrackHeld: tables.String("too large"), schema.TrackHeldUntil: soon})
	})
	add(retain.CauseBusy, 0, func(m schema.Member) {
		f.set(live, m, map[string]tables.Value{schema.TrackClaim: tables.String("c"), schema.TrackClaimUntil: soon})
	})
	add(retain.CauseRefold, 12, func(m schema.Member) {
		must.Have(live.Rewind(t.Context(), m, jobs.Rewound{To: ago(12), Mark: "m", At: time.Now(), By: "t"}))(t)
	})
	add(retain.CauseRefold, 0, func(m schema.Member) {
		f.set(live, m, map[string]tables.Value{schema.TrackSettings: tables.String("others")})
	})
	add(retain.CauseImport, 13, func(m schema.Member) {
		e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
		must.Succeed(t, schema.Imports{{ID: tables.TicksOf(time.Now()), From: ago(13), To: ago(12)}}.Set(&e))
		f.merge(f.Names.Fleet(), e)
	})
	add(retain.CauseAudit, 11, func(m schema.Member) {
		var l tracking.Ledger
		l.Add((ago(11) + 1).String())
		f.set(live, m, map[string]tables.Value{schema.TrackLedger: tables.Binary(l.Append(nil))})
	})
	add(retain.CauseWindow, 12, func(m schema.Member) {
		must.Have(fresh.Run(t.Context(), jobs.Batch{First: m.Place(), Last: m.Place()}))(t)
		waits := pack.Int(pack.Int([]byte{1}, 1), dayAgo(12)+1) // what an earlier release has not written yet
		var e tables.Entity
		tracking.SetStates(&e, schema.TrackStates, map[string][]byte{archive.Processor.Name: waits})
		values := map[string]tables.Value{schema.TrackLedger: tables.Binary((&tracking.Ledger{}).Append(nil)),
			schema.TrackLedgerFrom: tables.Int64(int64(ago(8)))}
		for _, p := range e.Properties {
			values[p.Name] = p.Value
		}
		f.set(fresh, m, values)
	})
	add(retain.CauseMove, 14, func(m schema.Member) {
		m.Spans, m.Next = schema.Spans{{To: ago(14)}}, "t2"
		f.merge(f.Names.Fleet(), must.Have(m.Entity())(t))
	})
	add(retain.CauseUnreadable, 0, func(m schema.Member) {
		f.set(live, m, map[string]tables.Value{schema.TrackRefold: tables.String("?")})
	})
	add(retain.CauseRetention, 0, func(m schema.Member) {
		f.set(r, m, map[string]tables.Value{schema.TrackHeld: tables.String("no answer"), schema.TrackHeldUntil: soon})
	})
	before, going := map[schema.DeviceID]int{}, map[schema.DeviceID]int{}
	folded(f.World.Member(f.World.Devices[0], f.Readings))
	for _, d := range slices.Concat(f.World.Devices[1:14], f.World.Devices[f.next:]) {
		folded(f.World.Member(d, f.Readings))
	}
	for e, err := range r.Retained(t.Context(), f.Batch) {
		must.Succeed(t, err)
		d := e.Member.Device
		cause, looked := want[d]
		if !looked {
			continue
		}
		before[d], going[d] = len(rowsOf(t, f.Fleet, d)), e.Rows
		stays := e.Wait.Until
		if e.Wait.Cause != cause || (cause == "") != (e.Wait.Reason == "") || cause != "" && f.until[d] > 0 &&
			stays != ago(f.until[d]) || f.until[d] == 0 && (stays >= ago(19) || e.Rows > 0) {
			t.Errorf("device %s: %+v, %d rows, want %s from %d days ago on", d, e.Wait, e.Rows, cause, f.until[d])
		}
	}
	ran := must.Have(r.Run(t.Context(), f.Batch))(t)
	waits := ran.Waits
	if late := ran.Overdue[retain.CauseImport]; late != 4*24*time.Hour {
		t.Errorf("readings of 13 days ago that may go after 9 days are late by %v", late)
	}
	if waits[retain.CauseBehind] != 2 || waits[retain.CauseArchive] != 14 || waits[retain.CauseRefold] != 2 ||
		waits[retain.CauseRetention] != 0 {
		t.Errorf("counted are %v", waits)
	}
	noted := map[schema.DeviceID]schema.Track{}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Partitions(r.Name)), tables.Query{}) {
		at := must.Have(schema.TrackOf(e))(t)
		noted[at.Place.Device()] = at
	}
	for d, cause := range want {
		if noted := noted[d]; cause != retain.CauseBusy && cause != retain.CauseRetention && (noted.Waits != string(cause) ||
			f.until[d] > 0 && cause != "" && noted.WaitsFrom != ago(f.until[d])) {
			t.Errorf("device %s: noted is %q from %v on, want %s from %d days ago on", d, noted.Waits,
				noted.WaitsFrom.Time(), cause, f.until[d])
		}
		left := rowsOf(t, f.Fleet, d)
		if before[d]-len(left) != going[d] {
			t.Errorf("device %s (%s): %d of %d rows are left, and %d were to go", d, cause, len(left), before[d], going[d])
		}
		if cause == "" && left[0] < nineDaysAgo() || f.until[d] > 0 && going[d] == 0 {
			t.Errorf("device %s (%s): %d rows go, and rows from %s on stay", d, cause, going[d], left[0])
		}
	}
}

// TestWhatIsExplainedGoes: of each table, a run deletes as many rows as were explained before, and explains afterwards
// that none go, and why the others stay.
func TestWhatIsExplainedGoes(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, p := fleetOfDays(t, 2, 60)
	f.World.Create(t, f.Names.Commands())
	fullShelf(t, f)
	device := f.World.Devices[0]
	put := func(table string, e tables.Entity) {
		must.Have(f.World.Connect(t, nil).Table(table).Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
	for i, n := range []int{40, 11, 1} {
		put(f.Names.Rejects(), must.Have(schema.Reject{Device: device, Pipeline: "live", Number: int64(i),
			At: ago(n) + 1}.Entity())(t))
		put(f.Names.Commands(), must.Have(schema.Command{Device: device, ID: schema.NewCommandID(ago(n)+1, "a"), Body: "1",
			Expires: ago(n).Add(time.Hour)}.Entity())(t))
	}
	desired := schema.Command{Device: device, ID: schema.NewCommandID(ago(50), "b"), Body: "1", Desired: true,
		Expires: tables.MaxTicks}
	put(f.Names.Commands(), must.Have(desired.Entity())(t))
	put(f.Names.Commands(), schema.Ack{Device: device, ID: desired.ID, Row: schema.RowKey{Ticks: ago(49)},
		State: schema.CommandSucceeded}.Entity())
	rates := f.Names.Output("rates") // as a processor of its own writes them, with the keys of rollups
	f.World.Create(t, rates)
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("rollups")), tables.Query{}) {
		put(rates, tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey})
	}
	rollup := slices.IndexFunc(p.Processors, func(c fold.Configured) bool { return slices.Contains(c.Tables, "rollups") })
	p.Processors = append(p.Processors, fold.Configured{
		Processor: &fold.Processor{Name: "rate", Tables: []string{"rates"}}, Fold: p.Processors[rollup].Fold})
	r, m := sweeping(t, f, nil)
	files := filing(t, f, nil)
	files.Name = "files"
	tablesOf(files).Source.Pipeline = files.Name
	f.Ran(t, "files")
	f.World.Create(t, f.Names.Partitions(files.Name))
	newArchive(t, files)
	must.Succeed(t, errors.Join(f.Settle(t.Context(), files), file(t.Context(), files)))
	r.Retention.Others, r.Retention.OldDays = []*jobs.Pipeline{p, files}, tablesOf(files).OldDays
	keep := r.Retention.Keep[2]
	keep.Readings, keep.Rejects, keep.Commands, keep.Archive = 9*days, 10*days, 10*days, 10*days
	keep.Rollups = map[schema.Window]time.Duration{schema.Minute: 10 * days, schema.Hour: 0}
	r.Retention.Keep = []retain.Keep{keep}
	explained := func() (rows, stay map[string]int) {
		rows, stay = map[string]int{}, map[string]int{}
		add := func(all []retain.RetainedTable) {
			for _, e := range all {
				rows[e.Table] += e.Rows
				stay[e.Table] += e.Stay
				if (e.Stay > 0) != (e.Wait.Cause != "") || (e.Kept == 0) != (e.Cut == 0) {
					t.Errorf("%+v", e)
				}
			}
		}
		for e, err := range r.Retained(t.Context(), f.Batch) {
			must.Succeed(t, err)
			rows[retain.ReadingsTable] += e.Rows
			add(e.Own)
		}
		for _, tenant := range []schema.Tenant{"t0", "t1", "gone", "forever"} {
			add(must.Have(r.Retainer().RetainedOf(t.Context(), tenant, tables.TicksOf(time.Now())))(t))
		}
		return rows, stay
	}
	want, stay := explained()
	if stay["commands"] != 1 {
		t.Errorf("%v stay of what acknowledges the desired configuration", stay)
	}
	deleted := must.Have(r.Run(t.Context(), f.Batch))(t).Deleted
	maps.Copy(deleted, must.Have(r.Do(t.Context(), m, jobstest.NoPut{}, func(context.Context, jobs.Message) error {
		return nil
	}))(t).Deleted)
	for _, table := range []string{"readings", "rollups", "rates", "rejects", "commands", "buckets", "reports",
		"incidents", "deliveries", "activity", "archive"} {
		if want[table] == 0 || deleted[table] != want[table] {
			t.Errorf("%s: %d rows were to go, and %d went", table, want[table], deleted[table])
		}
	}
	after, stay := explained()
	for table, n := range after {
		if n != 0 {
			t.Errorf("%s: %d rows are to go afterwards", table, n)
		}
	}
	if stay["incidents"] == 0 || stay["rejects"] != 0 {
		t.Errorf("%v stay", stay)
	}
}
