package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

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

// TestStoppedImportWaitsForRowsUnderWay stops an import while storage has a row that it has not inserted yet. The note
// must hold until then, or nothing folds this row.
func TestStoppedImportWaitsForRowsUnderWay(t *testing.T) {
	f := newFixture(t)
	p := pipelineOf(t, f.Fleet)
	f.imported("device,time,temp\nd1,2026-01-20,1\n")
	must.Succeed(t, f.Drain(t.Context(), p))
	var underWay *http.Request
	through := faults.Func(func(r *http.Request) (*http.Response, error) {
		sent := []byte{}
		if r.Body != nil {
			sent = must.Have(io.ReadAll(r.Body))(t)
		}
		copied := r.Clone(t.Context())
		copied.Body = io.NopCloser(bytes.NewReader(sent))
		if !bytes.Contains(sent, []byte("/"+f.Readings)) {
			return http.DefaultClient.Do(copied)
		}
		underWay = copied
		return nil, errKilled
	})
	if _, _, err := f.run("device,time,temp\nd1,2026-01-10,7\n", through, nil); err == nil {
		t.Fatal("the import says nothing of its end")
	}
	must.Succeed(t, f.Drain(t.Context(), p))
	must.Have(http.DefaultClient.Do(underWay))(t).Body.Close()
	f.expire()
	must.Succeed(t, f.Drain(t.Context(), p))
	twin := f.twin(0)
	must.Succeed(t, twin.Drain(t.Context(), pipelineOf(t, twin)))
	if rows, _ := f.stored(); len(rows) != 2 {
		t.Errorf("stored are %v", rows)
	}
	jobstest.SameEnds(t, jobstest.WithoutHistory(f.Ends(t)), jobstest.WithoutHistory(twin.Ends(t)))
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
		if err != nil || len(wrong) > 0 || len(clashes) != 1 || clashes[0].Line != 3 ||
			clashes[0].Stored["temp"] != "-40" || clashes[0].File["temp"] != "2" || sum.Written != 1 ||
			sum.Clashes != 1 {
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

// TestAReadingWithOneDoubtfulSensorIsOneReading: /v1 answers in CSV with a line for each sensor.
func TestAReadingWithOneDoubtfulSensorIsOneReading(t *testing.T) {
	const key = "0638975520000554330-sg2n4ttqfcqvhurt"
	f := newFixture(t)
	sum := f.imported("device,time,sensor,value,text,doubtful,row\n" +
		"d1,2025-11-01T00:00:00.055433Z,hum,60,,false," + key + "\n" +
		"d1,2025-11-01T00:00:00.055433Z,mode,,auto,true," + key + "\n" +
		"d1,2025-11-01T00:00:00.055433Z,temp,21,,false," + key + "\n")
	rows, _ := f.stored()
	row := rows["d1 "+key]
	for _, name := range []string{"hum", "mode", "temp", schema.DoubtfulProperty} {
		if !strings.Contains(row, "{"+name+" ") {
			t.Errorf("%s is missing in %s: %+v", name, row, sum)
		}
	}
	if sum.Rows != 1 || sum.Clashes > 0 {
		t.Errorf("%+v", sum)
	}
}

// TestAFileThatContradictsItselfIsImported: it is two answers of Furrow in one, and the first has fewer sensors.
func TestAFileThatContradictsItselfIsImported(t *testing.T) {
	const key, next = "0638975520000554330-sg2n4ttqfcqvhurt", "0638975520600554330-ozdppjynfyysr66f"
	f := newFixture(t)
	var clashes []Conflict
	sum, wrong, err := f.run("device,time,sensor,value,row\n"+
		"d1,2025-11-01T00:00:00.055433Z,hum,60,"+key+"\n"+
		"d1,2025-11-01T00:00:00.055433Z,hum,60,"+key+"\n"+
		"d1,2025-11-01T00:00:00.055433Z,temp,21,"+key+"\n"+
		"d1,2025-11-01T00:01:00.055433Z,temp,22,"+next+"\n", nil, func(i *Import) {
		i.Conflict = func(c Conflict) { clashes = append(clashes, c) }
	})
	rows, _ := f.stored()
	if err != nil || len(wrong) > 0 || len(rows) != 2 || sum.Rows != 3 || sum.Written != 2 || sum.Clashes != 1 {
		t.Errorf("%+v, %v, %v; stored are %q", sum, wrong, err, rows)
	}
	if len(clashes) != 1 || clashes[0].Line != 3 || clashes[0].Row != key || clashes[0].File["temp"] != "21" {
		t.Errorf("conflicts: %+v", clashes)
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
	if err != nil || len(wrong) != len(want) || sum.Wrong != 7 || sum.Written != 1 || sum.Rows != 1 ||
		sum.Lines != 8 {
		t.Errorf("%+v, %v, %v", sum, wrong, err)
	}
}

// TestRowsThatRetentionWouldDeleteKeepNoOtherDeviceOut imports them beside rows of a device without retention.
func TestRowsThatRetentionWouldDeleteKeepNoOtherDeviceOut(t *testing.T) {
	f := newFixture(t)
	f.imported("device,time,temp\nd1,2026-01-20,1\n")
	for _, e := range jobstest.Rows(t, f.registry.Fleet, tables.Query{}) {
		e.Set(schema.MemberWatermark, tables.Int64(int64(tables.TicksOf(time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)))))
		must.Have(f.registry.Fleet.Do(t.Context(), tables.Merge(e, e.ETag)))(t)
	}
	sum, wrong, err := f.run("device,time,temp\nd1,2026-01-02,1\nd1,2026-01-20,1\nd2,2026-01-02,1\n", nil,
		func(i *Import) { i.Workers = 1 })
	if err != nil || sum.Wrong != 2 || sum.Written != 1 || sum.Rows != 2 ||
		!strings.Contains(wrong[2], "before 2026-01-10, and nothing folds rows there any more") {
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

// TestLinesOfTheLongFormHaveAnyOrder exports the lines of one time again in another order, and one of them twice.
func TestLinesOfTheLongFormHaveAnyOrder(t *testing.T) {
	lines := []string{"in,1,C", "out,2,C", "hum,50,%", "dew,0.5,C", "soil,30,%"}
	export := func(lines []string) string {
		return "device,time,sensor,value,unit\nd1,2026-01-01," + strings.Join(lines, "\nd1,2026-01-01,") + "\n"
	}
	f := newFixture(t)
	if sum := f.imported(export(lines)); sum.Written != 2 {
		t.Errorf("lines with two units are %+v", sum)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		again := append(slices.Clone(lines), lines[r.IntN(len(lines))])
		r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		if sum := f.imported(export(again)); sum.Written != 0 || sum.Rows != 2 || sum.Equal != 1 {
			t.Errorf("%v: %+v", again, sum)
		}
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
