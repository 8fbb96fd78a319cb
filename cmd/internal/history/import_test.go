package history

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/cmd/internal/readings"
	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/processors"
	"furrow/jobs/rollup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A fixture is a fleet whose devices are registered by imports.
type fixture struct {
	*jobstest.Fleet
	t        *testing.T
	client   *tables.Client
	registry sas.Registry
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	f := &fixture{t: t, Fleet: &jobstest.Fleet{World: &jobstest.World{Account: account}, Readings: "readings",
		Names: must.Have(schema.ParseNames("own"))(t)}}
	f.client = f.World.Connect(t, nil)
	f.registry = sas.NewRegistry(f.client, f.Names)
	f.World.Create(t, append(processors.Tables(f.Names, "live"), f.Names.Devices(), f.Readings)...)
	f.Batch = jobs.Batch{First: schema.Place{Month: schema.Month{Year: 1, Month: 1}, Key: "a!a"},
		Last: schema.Place{Month: schema.Month{Year: 9999, Month: 12}, Key: "z!z"}}
	return f
}

func enrollment() schema.Enrollment {
	return schema.Enrollment{ID: "line4", Tenant: "contoso", Readings: "readings", Life: time.Hour, Prefix: "d"}
}

// run imports a text through a transport, and returns the summary and the problems by line.
func (f *fixture) run(text string, through policy.Transporter, change func(*Import)) (Summary, map[int]string, error) {
	f.t.Helper()
	client, wrong := f.World.Connect(f.t, through), map[int]string{}
	i := Import{Registry: sas.NewRegistry(client, f.Names), Readings: client.Table(f.Readings), Enrollment: enrollment(),
		Now: time.Now(), Wrong: func(p Problem) { wrong[p.Line] = p.Error }}
	if change != nil {
		change(&i)
	}
	in := must.Have(readings.Open(strings.NewReader(text), readings.Columns{}))(f.t)
	sum, err := i.Run(f.t.Context(), in)
	return sum, wrong, err
}

// imported imports a text without a problem.
func (f *fixture) imported(text string) Summary {
	f.t.Helper()
	sum, wrong, err := f.run(text, nil, nil)
	if err != nil || len(wrong) > 0 {
		f.t.Fatalf("%+v, %v, %v", sum, wrong, err)
	}
	return sum
}

// stored returns the rows of the readings table, and the notes of the memberships.
func (f *fixture) stored() (rows map[string]string, notes map[string]schema.Imports) {
	f.t.Helper()
	rows, notes = map[string]string{}, map[string]schema.Imports{}
	for _, e := range jobstest.Rows(f.t, f.client.Table(f.Readings), tables.Query{}) {
		rows[e.PartitionKey+" "+e.RowKey] = fmt.Sprint(e.Properties, e.Timestamp)
	}
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		notes[e.RowKey] = must.Have(schema.MemberOf(e))(f.t).Imports
	}
	return rows, notes
}

// expire has the leases of killed imports end, as time does. Storage may still be doing what a killed one had sent.
func (f *fixture) expire() {
	err := f.tryExpire()
	for errors.Is(err, tables.ErrConflict) {
		err = f.tryExpire()
	}
	must.Succeed(f.t, err)
}

func (f *fixture) tryExpire() error {
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		m := must.Have(schema.MemberOf(e))(f.t)
		for i := range m.Imports {
			if m.Imports[i].Until > 0 {
				m.Imports[i].Until = 1
			}
		}
		must.Succeed(f.t, m.Imports.Set(&e))
		if _, err := f.registry.Fleet.Do(f.t.Context(), tables.Merge(e, e.ETag)); err != nil {
			return err
		}
	}
	return nil
}

// twin returns a fleet with the same devices and readings, which no import has written into.
func (f *fixture) twin(n int) *jobstest.Fleet {
	names := must.Have(schema.ParseNames(fmt.Sprint("twin", n)))(f.t)
	f.World.Create(f.t, processors.Tables(names, "live")...)
	for _, e := range jobstest.Rows(f.t, f.registry.Fleet, tables.Query{}) {
		e.Set("Imports", tables.Value{})
		jobstest.Insert(f.t, f.client.Table(names.Fleet()), e)
	}
	return &jobstest.Fleet{World: f.World, Readings: f.Readings, Names: names, Batch: f.Batch}
}

func pipelineOf(t *testing.T, f *jobstest.Fleet) *jobs.Pipeline {
	p := f.Pipeline(t, nil)
	p.Settle, p.Portion = time.Nanosecond, 40
	p.Processors = []fold.Configured{latest.Processor.Default(), rollup.Processor.Default()}
	return p
}

// killed answers some requests, then none. It may do the last one.
type killed struct {
	left atomic.Int64
	last bool
}

var errKilled = errors.New("the process is dead")

func (k *killed) Do(req *http.Request) (*http.Response, error) {
	left := k.left.Add(-1)
	if left < 0 && !(left == -1 && k.last) {
		return nil, errKilled
	}
	resp, err := http.DefaultClient.Do(req)
	if left < 0 {
		if err == nil {
			resp.Body.Close()
		}
		return nil, errKilled
	}
	return resp, err
}

// TestImportedFleetEqualsOneThatSentItsReadings imports random rows, in any order and with ends of the process, into
// devices that have sent newer ones, while jobs run. The outputs equal those of a fleet that folds all rows at once.
func TestImportedFleetEqualsOneThatSentItsReadings(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomImports(t, seed) })
	}
}

func randomImports(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	f := newFixture(t)
	p := pipelineOf(t, f.Fleet)
	now := time.Now().UTC().Add(-time.Hour)
	f.imported(fmt.Sprintf("device,time,temp\nd0,%[1]s,1\nd1,%[1]s,1\n", now.Add(-20*24*time.Hour).Format(time.RFC3339)))
	want := 2
	sent := func() { // by the devices themselves
		for i := range 2 {
			now = now.Add(time.Second)
			jobstest.Insert(t, f.client.Table(f.Readings), schema.Reading{Device: schema.DeviceID(fmt.Sprint("d", i)),
				Key:        schema.RowKey{Ticks: tables.TicksOf(now)},
				Properties: []tables.Property{{Name: "temp", Value: tables.Double(float64(r.IntN(9)))}}}.Entity())
			want++
		}
	}
	for round := range 3 {
		lines, distinct := []string{}, map[string]bool{}
		for range 150 {
			at := now.Add(-time.Duration(r.Int64N(int64(4 * 24 * time.Hour)))).Truncate(2 * time.Hour)
			line := fmt.Sprintf("d%d,%s,%d,%d.%d", r.IntN(4), at.Format(time.RFC3339), r.IntN(3), round, r.IntN(2))
			if r.IntN(10) == 0 {
				line = strings.Replace(line, ",0,", ",inf,", 1) // is rejected when it is folded
			}
			lines, distinct[line] = append(lines, line), true
		}
		want += len(distinct)
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		text := "device,time,temp,hum\n" + strings.Join(lines, "\n") + "\n"
		if sent(); r.IntN(2) == 0 {
			must.Succeed(t, f.Drain(t.Context(), p))
		}
		for range r.IntN(4) {
			k := &killed{last: r.IntN(2) == 0}
			k.left.Store(r.Int64N(60))
			if _, _, err := f.run(text, k, nil); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 {
				f.expire()
			}
			sent()
			must.Succeed(t, f.Drain(t.Context(), p))
		}
		f.imported(text)
	}
	f.expire()
	sent()
	must.Succeed(t, f.Drain(t.Context(), p))
	if rows, _ := f.stored(); len(rows) != want {
		t.Errorf("%d rows are stored, want %d", len(rows), want)
	}
	twin := f.twin(0)
	must.Succeed(t, twin.Drain(t.Context(), pipelineOf(t, twin)))
	got := f.Ends(t)
	for key, row := range got {
		if strings.HasPrefix(key, "partitions") && strings.Contains(row, " Late=") && !strings.Contains(row, " Late=0") {
			t.Errorf("imported rows count as late: %s", row)
		}
	}
	jobstest.SameEnds(t, jobstest.WithoutHistory(got), jobstest.WithoutHistory(twin.Ends(t)), "seed ", seed)
}

func TestImportRepeatedWritesNothing(t *testing.T) {
	f := newFixture(t)
	text := "device,time,temp,hum\nd1,2026-01-02,1,2\nd1,2026-01-01,1,2\nd1,2026-01-01,1,2\nd2,2026-01-01,5,\n"
	want := Summary{Lines: 4, Equal: 1, Devices: 2, Added: 2, Rows: 3, Written: 3, Sensors: []string{"hum", "temp"},
		Oldest: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Newest: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	if got := f.imported(text); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("at first %+v", got)
	}
	rows, notes := f.stored()
	want.Added, want.Written = 0, 0
	for name, again := range map[string]string{"the same": text,
		"in another format": `{"device":"d2","time":"20260101","temp":5}
{"device":"d1","time":"2026-01-01","hum":2,"temp":1}
{"device":"d1","time":"2026-01-02","hum":2,"temp":1}
{"device":"d1","time":"2026-01-01","hum":2,"temp":1}`} {
		if got := f.imported(again); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v", name, got)
		}
		if now, nowNoted := f.stored(); !maps.Equal(now, rows) || fmt.Sprint(nowNoted) != fmt.Sprint(notes) {
			t.Errorf("%s: it has changed rows or memberships: %v, %v", name, now, nowNoted)
		}
	}
}

// TestImportReplacesNoRowOfTheDevice with the key of one of its own, whether that was there before or comes meanwhile.
func TestImportReplacesNoRowOfTheDevice(t *testing.T) {
	const text = "device,time,temp\nd1,2026-01-01,1\nd1,2026-01-02,2\nd1,2026-01-03,3\n"
	twin := newFixture(t)
	twin.imported(text)
	rows := jobstest.Rows(t, twin.client.Table(twin.Readings), tables.Query{})
	own := tables.Entity{PartitionKey: "d1", RowKey: rows[1].RowKey}
	own.Set("temp", tables.Double(-40))
	for _, meanwhile := range []bool{false, true} {
		f := newFixture(t)
		var device sync.Once
		sends := func() { device.Do(func() { jobstest.Insert(t, f.client.Table(f.Readings), own, rows[0]) }) }
		if !meanwhile {
			sends()
		}
		through := faults.Func(func(r *http.Request) (*http.Response, error) {
			answer, err := http.DefaultClient.Do(r)
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+f.Readings) {
				sends() // the import has read what is stored
			}
			return answer, err
		})
		var clashes []Conflict
		sum, wrong, err := f.run(text, through, func(i *Import) {
			i.Conflict = func(c Conflict) { clashes = append(clashes, c) }
		})
		if err != nil || len(wrong) > 0 || len(clashes) != 1 || clashes[0].Line != 3 || clashes[0].Stored["temp"] != "-40" ||
			clashes[0].File["temp"] != "2" || sum.Written != 1 || sum.Clashes != 1 {
			t.Errorf("%+v, %v, %v", sum, wrong, err)
		}
		stored := jobstest.Rows(t, f.client.Table(f.Readings), tables.Query{})
		if len(stored) != 3 || stored[1].Get("temp").Float() != -40 {
			t.Errorf("stored is %+v", stored)
		}
	}
}

// TestAFileInPiecesGivesTheSameRows imports files whose ends overlap.
func TestAFileInPiecesGivesTheSameRows(t *testing.T) {
	const first, second = "d1,2026-01-01,1\nd1,2026-01-02,2\n", "d1,2026-01-02,2\nd1,2026-01-03,3\n"
	whole, pieces := newFixture(t), newFixture(t)
	whole.imported("device,time,temp\n" + first + second)
	pieces.imported("device,time,temp\n" + first)
	pieces.imported("device,time,temp\n" + second)
	keys := func(f *fixture) []string { rows, _ := f.stored(); return slices.Sorted(maps.Keys(rows)) }
	if a, b := keys(whole), keys(pieces); len(a) != 3 || !slices.Equal(a, b) {
		t.Errorf("the whole has %q, the pieces have %q", a, b)
	}
}

// TestAWideLineMakesSeveralRows has more columns than a row may have properties.
func TestAWideLineMakesSeveralRows(t *testing.T) {
	f := newFixture(t)
	names, values := "device,time", "d1,2026-01-01"
	for n := range 500 {
		names, values = fmt.Sprintf("%s,c%03d", names, n), fmt.Sprintf("%s,%d", values, n)
	}
	if sum := f.imported(names + "\n" + values + "\n"); sum.Rows != 2 || sum.Written != 2 {
		t.Errorf("%+v", sum)
	}
	if sum := f.imported(names + "\n" + values + "\n"); sum.Written != 0 {
		t.Errorf("again: %+v", sum)
	}
}

// TestWhatFurrowWritesAddsNothingToItself imports readings with their row keys into the fleet that has them.
func TestWhatFurrowWritesAddsNothingToItself(t *testing.T) {
	for _, file := range []string{"r36-own-raw.csv", "r36-own-raw.jsonl", "r36-own-v1.csv"} {
		text := string(must.Have(os.ReadFile("../readings/testdata/cases/" + file))(t))
		own := func(i *Import) { i.Enrollment.Prefix = "own" }
		f := newFixture(t)
		first, wrong, err := f.run(text, nil, own)
		rows, _ := f.stored()
		if err != nil || len(wrong) > 0 || first.Rows != first.Written || first.Clashes > 0 {
			t.Errorf("%s: %+v, %v, %v", file, first, wrong, err)
		}
		again, _, err := f.run(text, nil, own)
		if err != nil || again.Written > 0 || again.Clashes > 0 {
			t.Errorf("%s: again %+v, %v", file, again, err)
		}
		if raw := "own-1 0638763840000000000-ozdppjynfyysr66f"; strings.Contains(file, "raw") && (len(rows) != 4 ||
			!strings.Contains(rows[raw], "=on") || strings.Contains(rows[raw], "'=on")) {
			t.Errorf("%s: stored are %q", file, rows)
		}
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	f := newFixture(t)
	dry := func(i *Import) { i.DryRun = true }
	text := "device,time,temp\nd1,2026-01-02,1\nd2,2026-01-01,1\nx,2026-01-01,1\n"
	sum, wrong, err := f.run(text, nil, dry)
	if err != nil || sum.Written != 2 || sum.Added != 2 || sum.Wrong != 1 || len(wrong) != 1 {
		t.Errorf("%+v, %v, %v", sum, wrong, err)
	}
	rows, notes := f.stored()
	if devices := jobstest.Rows(t, f.registry.Devices, tables.Query{}); len(rows)+len(notes)+len(devices) > 0 {
		t.Errorf("it has stored %v, %v, %v", rows, notes, devices)
	}
}

func TestInvalidLinesOfAnImportAreSkipped(t *testing.T) {
	f := newFixture(t)
	sum, wrong, err := f.run("device,time,temp,site\n"+
		"d1,2026-01-02,1,\n"+
		"d1,tomorrow,1,\n"+ // 3
		"d1,9000-01-01,1,\n"+
		"d/1,2026-01-02,1,\n"+
		"x7,2026-01-02,1,\n"+ // 6, 8
		"d1,2026-01-02,"+strings.Repeat("x", 40_000)+",\n"+
		"x7,2026-01-03,1,\n"+
		"d1,2026-01-02,1,"+strings.Repeat("s", 200)+"\n", nil, nil)
	want := map[int]string{3: "not a time", 4: "outside the years", 5: "character", 6: "none of its 2 rows", 7: "bytes",
		9: "site"}
	for line, text := range want {
		if !strings.Contains(wrong[line], text) {
			t.Errorf("line %d: %q, want %q", line, wrong[line], text)
		}
	}
	if err != nil || len(wrong) != len(want) || sum.Wrong != 7 || sum.Written != 1 || sum.Lines != 8 {
		t.Errorf("%+v, %v, %v", sum, wrong, err)
	}
}

// TestSortingUsesItsFileInAnyOrder gives the sorter less memory than a few rows take.
func TestSortingUsesItsFileInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	lines := []string{}
	for n := range 2000 {
		at := time.Date(2026, 1, 1, 0, 0, r.IntN(500), 0, time.UTC)
		lines = append(lines, fmt.Sprintf("d%d,%s,%d,s%d", r.IntN(20), at.Format(time.RFC3339), n, n))
	}
	text := "device,time,temp,site\n" + strings.Join(lines, "\n")
	whole, small := newFixture(t), newFixture(t)
	whole.imported(text)
	sum, wrong, err := small.run(text, nil, func(i *Import) { i.memory = 4 << 10 })
	if err != nil || len(wrong) > 0 || sum.Written != 2000 || sum.Devices != 20 {
		t.Fatalf("%+v, %v, %v", sum, wrong, err)
	}
	keys := func(f *fixture) []string { rows, _ := f.stored(); return slices.Sorted(maps.Keys(rows)) }
	if !slices.Equal(keys(whole), keys(small)) {
		t.Error("the rows depend on the memory for sorting")
	}
	for n := range 20 {
		id := schema.DeviceID(fmt.Sprint("d", n))
		a, b := must.Have(whole.registry.Get(t.Context(), id))(t), must.Have(small.registry.Get(t.Context(), id))(t)
		if a.Site != b.Site || a.Month != b.Month || a.Site == "" {
			t.Errorf("%s is %+v, or %+v", id, a, b)
		}
	}
}

func TestLinesOfTheLongFormMakeOneReading(t *testing.T) {
	f := newFixture(t)
	sum := f.imported("device,time,sensor,value\nd1,2026-01-01,temp,1\nd1,2026-01-02,temp,3\nd1,2026-01-01,hum,2\n" +
		"d1,2026-01-01,hum,4\n")
	rows, _ := f.stored()
	if sum.Rows != 3 || len(rows) != 3 {
		t.Errorf("%+v: %v", sum, rows)
	}
	other := newFixture(t)
	other.imported("device,time,temp,hum\nd1,2026-01-01,1,2\nd1,2026-01-02,3,\nd1,2026-01-01,,4\n")
	if wide, _ := other.stored(); !slices.Equal(slices.Sorted(maps.Keys(wide)), slices.Sorted(maps.Keys(rows))) {
		t.Errorf("the long form has %v, the wide one %v", rows, wide)
	}
}

// TestImportBelowTheLedgerIsFoldedAndRejected imports rows that no audit counts any more: the ledger begins today.
func TestImportBelowTheLedgerIsFoldedAndRejected(t *testing.T) {
	f := newFixture(t)
	p := pipelineOf(t, f.Fleet)
	f.imported("device,time,temp\nd1,2026-01-20,1\nd1,2026-01-25,2\n")
	must.Succeed(t, f.Drain(t.Context(), p))
	for _, e := range jobstest.Rows(t, f.client.Table(f.Names.Partitions("live")), tables.Query{}) {
		today := time.Now().UTC().Truncate(24 * time.Hour)
		row := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
		row.Set(schema.TrackLedgerFrom, tables.Int64(int64(tables.TicksOf(today))))
		must.Have(f.client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Merge(row, e.ETag)))(t)
	}
	f.imported("device,time,temp\nd1,2026-01-10,7\nd1,2026-01-20,inf\nd1,2026-01-20T01:00:00Z,3\n")
	must.Succeed(t, f.Drain(t.Context(), p))
	twin := f.twin(0)
	must.Succeed(t, twin.Drain(t.Context(), pipelineOf(t, twin)))
	outputs := func(of *jobstest.Fleet) map[string]string {
		all := of.Ends(t)
		maps.DeleteFunc(all, func(key, _ string) bool { return strings.HasPrefix(key, "partitions") })
		return all
	}
	got := outputs(f.Fleet)
	jobstest.SameEnds(t, got, outputs(twin))
	if rejected := slices.DeleteFunc(slices.Collect(maps.Keys(got)), func(key string) bool {
		return !strings.HasPrefix(key, "rejects")
	}); len(rejected) != 1 {
		t.Errorf("the rejects are %q", rejected)
	}
}
