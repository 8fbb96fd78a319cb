package jobs_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/commit"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A keptFleet is a fleet whose readings retention deletes while everything else happens to it. All that it ever had is
// in a table of its own, too, which a new fleet reads in the end.
type keptFleet struct {
	*jobstest.Fleet
	t        *testing.T
	random   *rand.Rand
	all      string          // the table with all readings
	late     []tables.Entity // rows that tokens still admit
	past     []tables.Entity // older rows that imports bring
	settings map[schema.Pipeline]int
	others   policy.Transporter                          // of requests that no job makes; may be nil
	change   func(*jobs.Pipeline)                        // changes each pipeline that folds; may be nil
	finish   func(context.Context, *jobs.Pipeline) error // has a pipeline do all that there is; nil: Settle
	// begun are the watermarks of the memberships when the pipeline fresh was added; nil: it was not.
	begun map[schema.Place]tables.Ticks
}

const keptDays = 14

func newKeptFleet(t *testing.T, seed uint64) *keptFleet {
	t.Helper()
	w := jobstest.NewWorldSince(t, keptDays*days, 2, 60)
	readings := w.Readings + "kept"
	f := &keptFleet{Fleet: w.NewFleetOf(t, readings), t: t, random: rand.New(rand.NewPCG(seed, 0)), all: readings + "all",
		settings: map[schema.Pipeline]int{}}
	w.Create(t, readings, f.all, f.Names.Partitions("second"), f.Names.Partitions("fresh"),
		f.Names.Partitions("archive"), f.Names.Partitions("retention"))
	admitted := tables.TicksOf(time.Now().Add(-7 * days)).String()
	for i, rows := range w.Rows {
		for n, e := range rows {
			row := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
			row.Set("temperature", e.Get("temperature")) // every row has all sensors: the newest value is never an old one
			row.Set("humidity", e.Get("humidity"))
			w.Rows[i][n] = row
			switch hides := f.random.IntN(6) == 0; {
			case hides && row.RowKey > admitted && n < len(rows)-5:
				f.late = append(f.late, row)
			case hides && row.RowKey <= admitted:
				f.past = append(f.past, row)
			default:
				f.arrive(row)
			}
		}
	}
	for _, p := range []schema.Pipeline{"second", "fresh", "archive"} {
		f.Ran(t, p)
	}
	withRecords(t, f.Fleet)
	newArchive(t, f.archive(nil))
	return f
}

// arrive inserts rows.
func (f *keptFleet) arrive(rows ...tables.Entity) {
	f.t.Helper()
	for _, name := range []string{f.Readings, f.all} {
		jobstest.Insert(f.t, f.World.Connect(f.t, f.others).Table(name), rows...)
	}
}

// pipelines are all that fold.
func (f *keptFleet) pipelines(through policy.Transporter) []*jobs.Pipeline {
	live := f.Pipeline(f.t, through)
	all := []*jobs.Pipeline{live, f.rollups("second", 30*time.Minute, through), f.archive(through)}
	if f.begun != nil {
		all = append(all, f.rollups("fresh", 2*time.Hour, through))
	}
	for _, p := range all {
		if n := f.settings[p.Name]; n > 0 {
			p.Settings = fmt.Sprintf("latest:%d,rollup:%d,archive:%d", n, n, n)
		}
		p.Portion = 5 + f.random.IntN(60)
		if f.change != nil {
			f.change(p)
		}
	}
	return all
}

// rollups is a pipeline with another window.
func (f *keptFleet) rollups(name schema.Pipeline, w time.Duration, through policy.Transporter) *jobs.Pipeline {
	p := f.Pipeline(f.t, through)
	p.Name = name
	p.Processors = []fold.Configured{jobstest.With(f.t, rollup.Processor,
		&rollup.Config{Windows: []schema.Window{schema.Window(w)}})}
	return p
}

func (f *keptFleet) archive(through policy.Transporter) *jobs.Pipeline {
	p := filing(f.t, f.Fleet, through)
	p.Name = "archive"
	tablesOf(p).Source.Pipeline = p.Name
	return p
}

// any is one of the pipelines.
func (f *keptFleet) any(through policy.Transporter) *jobs.Pipeline {
	all := f.pipelines(through)
	return all[f.random.IntN(len(all))]
}

// retention keeps readings of t2 for ever, and of t1 those that the condition does not hold for.
func (f *keptFleet) retention(through policy.Transporter, keeps func() time.Duration) *jobs.Pipeline {
	p := retaining(f.t, f.Fleet, through, f.pipelines(through)...)
	of := func(t string) fold.Match { return fold.Match{Tenant: []string{t}} }
	p.Retention.Keep = []retain.Keep{{Match: of("t2")},
		{Match: of("t1"), Readings: keeps(), Where: must.Have(condition.Parse("humidity > 43"))(f.t)},
		{Match: of("t0"), Readings: keeps()}}
	p.Portion = 5 + f.random.IntN(60)
	made := tablesOf(f.archive(through))
	p.Retention.Archived = func(ctx context.Context, m schema.Month, t schema.Tenant, d schema.Day) (bool, error) {
		return made.Has(ctx, archive.TableDay{Tenant: t, Day: d, Month: m})
	}
	return p
}

// killed does something that is killed at a random operation, before or after storage has done it, or not at all.
func (f *keptFleet) killed(most int, do func(context.Context, policy.Transporter)) {
	ctx, kill := context.WithCancel(f.t.Context())
	defer kill()
	if f.random.IntN(3) == 0 {
		do(ctx, nil)
		return
	}
	sent := f.random.IntN(2) == 0
	do(ctx, &faults.Gate{At: f.random.IntN(most), Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		if sent {
			if answer, err := send(); err == nil {
				_ = answer.Body.Close()
			}
		}
		kill()
		return nil, context.Canceled
	}})
}

// step does something, perhaps killed.
func (f *keptFleet) step() string {
	ctx, device := f.t.Context(), f.random.IntN(len(f.World.Devices))
	back := time.Duration(f.random.Int64N(int64(keptDays * days)))
	names := []string{"retain", "retain", "retain", "move", "late", "run", "run", "audit", "audit", "rewind", "fresh",
		"settings", "import", "file", "file"}
	what := names[f.random.IntN(len(names))]
	switch what {
	case "retain":
		f.killed(80, func(ctx context.Context, through policy.Transporter) {
			_ = f.Drain(ctx, f.retention(through, func() time.Duration { return time.Duration(9+f.random.IntN(4)) * days }))
		})
	case "move":
		rows := f.World.Rows[device]
		mv := sas.Move{Device: f.World.Devices[device], To: schema.Tenant(fmt.Sprint("t", f.random.IntN(3))),
			At: tables.TicksBefore(rows[f.random.IntN(len(rows)-5)].RowKey) + tables.Ticks(f.random.IntN(2))}
		f.killed(12, func(ctx context.Context, through policy.Transporter) {
			_, _ = sas.NewRegistry(f.World.Connect(f.t, through), f.Names).Move(ctx, mv)
		})
	case "late":
		n := f.random.IntN(len(f.late) + 1)
		f.arrive(f.late[:n]...)
		f.late = f.late[n:]
	case "run": // with a long settle time, as if it had been paused, and perhaps for one tenant first
		of := *f.Fleet
		if f.random.IntN(2) == 0 {
			members := membersOf(f.t, f.Fleet)
			of.Batch.First = members[f.random.IntN(len(members))].Place()
			of.Batch.Last = of.Batch.First
		}
		f.killed(80, func(ctx context.Context, through policy.Transporter) {
			p := f.any(through)
			p.Settle = time.Duration(f.random.IntN(2)) * back
			_ = of.Drain(ctx, p)
		})
	case "audit":
		f.killed(80, func(ctx context.Context, through policy.Transporter) {
			p, m := f.any(through), f.Audit(refold.Full)
			m.Pipeline = p.Name
			_, _ = p.Do(ctx, m, jobstest.NoPut{}, nil)
		})
	case "rewind":
		members := membersOf(f.t, f.Fleet)
		must.Have(f.any(nil).Rewind(ctx, members[f.random.IntN(len(members))], jobs.Rewound{
			To: tables.TicksOf(time.Now().Add(-back)), Mark: "m", At: time.Now(), By: "t"}))(f.t)
	case "fresh":
		if f.begun == nil {
			f.begun = map[schema.Place]tables.Ticks{}
			for _, m := range membersOf(f.t, f.Fleet) {
				f.begun[m.Place()] = m.Watermark
			}
		}
	case "settings":
		f.settings[f.any(nil).Name]++
	case "import":
		f.importPast()
	case "file":
		f.killed(200, func(ctx context.Context, through policy.Transporter) { _ = file(ctx, f.archiving(through)) })
	}
	return what
}

// archiving is the archive's pipeline with its settings.
func (f *keptFleet) archiving(through policy.Transporter) *jobs.Pipeline {
	return f.pipelines(through)[2]
}

// importPast imports old rows of one device, which retention may refuse.
func (f *keptFleet) importPast() {
	if len(f.past) == 0 {
		return
	}
	registry := sas.NewRegistry(f.World.Connect(f.t, f.others), f.Names)
	e := f.past[0]
	at := tables.TicksBefore(e.RowKey)
	device := must.Have(registry.Get(f.t.Context(), schema.DeviceID(e.PartitionKey)))(f.t)
	note, err := registry.NoteImport(f.t.Context(), device, schema.Import{From: at, To: at + 1}, false)
	if err != nil {
		return
	}
	f.past = f.past[1:]
	f.arrive(e)
	must.Have(registry.NoteImport(f.t.Context(), device, note, true))(f.t)
}

// settle has all pipelines do what is left, and the archive be made.
func (f *keptFleet) settle() {
	f.t.Helper()
	// What was killed has arrived by then, also where the clock was an hour ahead.
	finish := f.finish
	if finish == nil {
		finish = f.Settle
	}
	for _, after := range []time.Duration{0, 3 * commit.Landed, 0} {
		for _, p := range f.pipelines(nil) {
			hence(f.t, f.Fleet, p, after)
			must.Succeed(f.t, finish(f.t.Context(), p))
		}
	}
	must.Succeed(f.t, file(f.t.Context(), f.archiving(nil)))
	marks := tables.Query{Range: schema.Marks(jobstest.Month, schema.ArchiveMark)}
	today := schema.DayOf(tables.TicksOf(time.Now())).String()
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.Names.Partitions("archive")), marks) {
		mark := must.Have(schema.MarkOf(e))(f.t)
		if !strings.HasPrefix(mark.Name, today) && !strings.HasPrefix(mark.Name, "clean") {
			f.t.Errorf("the mark %s is left", e.RowKey)
		}
	}
}

// wanted returns the outputs of new fleets that have the same memberships and read all readings there ever were.
func (f *keptFleet) wanted() map[string]string {
	f.t.Helper()
	begin := func(watermark func(schema.Place) tables.Ticks) *keptFleet {
		calm := *f
		calm.Fleet = f.World.NewFleetOf(f.t, f.all)
		calm.Batch = f.Batch
		f.World.Create(f.t, calm.Names.Partitions("second"), calm.Names.Partitions("fresh"))
		table := f.World.Connect(f.t, nil).Table(calm.Names.Fleet())
		for _, m := range membersOf(f.t, f.Fleet) {
			m.Readings, m.Watermark, m.Imports = f.all, watermark(m.Place()), nil
			must.Have(table.Do(f.t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(f.t))))(f.t)
		}
		return &calm
	}
	calm := begin(func(schema.Place) tables.Ticks { return 0 })
	for _, p := range calm.pipelines(nil)[:2] {
		must.Succeed(f.t, calm.Settle(f.t.Context(), p))
	}
	want := outputsOf(f.t, calm.Fleet)
	if f.begun != nil {
		calm := begin(func(p schema.Place) tables.Ticks { return f.begun[p] })
		must.Succeed(f.t, calm.Settle(f.t.Context(), calm.pipelines(nil)[3]))
		maps.Copy(want, outputsOf(f.t, calm.Fleet))
	}
	return want
}

// owner returns the tenant that a row belongs to.
func (f *keptFleet) owner(members []schema.Member, e *tables.Entity) (is schema.Tenant) {
	f.t.Helper()
	for _, m := range members {
		if string(m.Device) == e.PartitionKey && m.Has(tables.TicksBefore(e.RowKey)) {
			if is != "" {
				f.t.Errorf("row %s of %s belongs to %s and %s", e.RowKey, e.PartitionKey, is, m.Tenant)
			}
			is = m.Tenant
		}
	}
	return is
}

// check compares outputs and archive with those of all readings.
func (f *keptFleet) check(want map[string]string, about string) {
	f.t.Helper()
	jobstest.SameEnds(f.t, f.kept(outputsOf(f.t, f.Fleet)), f.kept(want), about)
	members, files := membersOf(f.t, f.Fleet), map[string]string{}
	today := schema.DayOf(tables.TicksOf(time.Now()))
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.all), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		if err == nil && schema.DayOf(r.Key.Ticks) < today {
			files[e.PartitionKey+"/"+e.RowKey] = filedAs(f.owner(members, &e), r, false)
		}
	}
	jobstest.SameEnds(f.t, filed(f.t, f.Fleet), files, about, ", archive")
}

// kept returns the outputs that settings of now have made: where all rows of a window are gone, nothing makes it again.
func (f *keptFleet) kept(outputs map[string]string) map[string]string {
	if f.change == nil {
		return outputs // settings differ by their name alone
	}
	gone := map[schema.DeviceID]tables.Ticks{}
	for _, m := range membersOf(f.t, f.Fleet) {
		gone[m.Device] = max(gone[m.Device], m.Watermark)
	}
	kept := maps.Clone(outputs)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		parts := strings.Split(key, "/")
		row, err := schema.ParseRollupRow(parts[len(parts)-1])
		return err == nil && row.Bucket < gone[row.Device]
	})
	return kept
}

// checkRows compares the rows that are left with those that their tenants keep, where rows below a key go. Those from
// there up to another key may be gone: they were old enough when tokens admitted no older ones.
func (f *keptFleet) checkRows(below, maybe string) {
	f.t.Helper()
	var want []string
	members := membersOf(f.t, f.Fleet)
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.all), tables.Query{}) {
		_, err := schema.ReadingOf(e)
		goes := e.RowKey < below
		switch f.owner(members, &e) {
		case "t2":
			goes = false
		case "t1":
			goes = goes && err == nil && e.Get("humidity").Text() > "43"
		}
		if !goes {
			want = append(want, e.PartitionKey+"/"+e.RowKey)
		}
	}
	var got []string
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.Readings), tables.Query{}) {
		got = append(got, e.PartitionKey+"/"+e.RowKey)
	}
	between := func(key string) bool {
		_, key, _ = strings.Cut(key, "/")
		return key >= below && key < maybe
	}
	if got, want = slices.DeleteFunc(got, between), slices.DeleteFunc(want, between); slices.Equal(got, want) {
		return
	}
	nine := func() time.Duration { return 9 * days }
	for r, err := range f.retention(nil, nine).Retained(f.t.Context(), f.Batch) {
		f.t.Log(r.Member.Place(), r.To.Time(), r.Wait, r.Err, err)
	}
	for _, key := range slices.Concat(got, want) {
		if slices.Contains(got, key) != slices.Contains(want, key) {
			f.t.Errorf("row %s is left: %v", key, slices.Contains(got, key))
		}
	}
}

// TestRetentionChangesNoOutput, whatever happens beside it and is killed: pipelines that are paused or new, an archive,
// late rows, imports, rewinds, changed settings and moves. In the end all outputs and files are as if every reading
// were still there, rewinds to the beginning change none, and exactly the rows are left that their tenants keep.
func TestRetentionChangesNoOutput(t *testing.T) {
	t.Parallel()
	for n := range schedules() {
		seed := *seedFrom + uint64(n)
		if *seedFrom == 0 {
			seed = rand.Uint64()
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newKeptFleet(t, seed)
			var steps []string
			for range 8 + f.random.IntN(20) {
				steps = append(steps, f.step())
			}
			f.arrive(f.late...)
			t.Log(steps)
			f.end(nineDaysAgo(), "")
		})
	}
}

// end has everything settle, retention delete what it may, and all be folded again, and compares.
func (f *keptFleet) end(below, maybe string) {
	t := f.t
	t.Helper()
	registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
	for _, d := range f.World.Devices { // the next token completes what was interrupted
		must.Have(registry.Register(t.Context(), must.Have(registry.Get(t.Context(), d))(t)))(t)
	}
	f.settle()
	want := f.wanted()
	f.check(want, "after the steps")
	nine := func() time.Duration { return 9 * days }
	for range 2 {
		must.Succeed(t, f.Drain(t.Context(), f.retention(nil, nine)))
	}
	f.checkRows(below, maybe)
	for _, m := range membersOf(t, f.Fleet) {
		for _, p := range f.pipelines(nil) {
			must.Have(p.Rewind(t.Context(), m, jobs.Rewound{Mark: "m", At: time.Now(), By: "t"}))(t)
		}
	}
	f.settle()
	f.check(want, "after retention and rewinds")
}
