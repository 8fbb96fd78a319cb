package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestASeriesHasOneColumn, also where two machines take a name for it at once, or for two others.
func TestASeriesHasOneColumn(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for _, sensors := range [][]string{{"temp", "temp", "temp"}, {"temp", "door", "wind"}} {
		for n := range 5 {
			w := emptyWorld(t, a, fmt.Sprint("c", n, sensors[1]))
			take := func(through policy.Transporter, sensor string) string {
				s := catalog.Series{Sensor: sensor, Type: delta.Double}
				return must.Have(w.machine(t, through).table.Columns(t.Context(), []catalog.Series{s}))(t)[s]
			}
			second := ""
			gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				second = take(nil, sensors[1])
				return send()
			}}
			got := []string{take(gate, sensors[0]), second, take(nil, sensors[2])}
			if second != "" && !slices.Equal(got, sensors) {
				t.Errorf("stopped at %d: the columns of %q are %q", n, sensors, got)
			}
		}
	}
}

// TestManyColumnsAreTakenAtOnce, more than transactions are tried.
func TestManyColumnsAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, newAccount(t), "many")
	var all []catalog.Series
	for n := range 1000 {
		all = append(all, catalog.Series{Sensor: fmt.Sprint("s", n), Type: delta.Double})
	}
	_, err := w.machine(t, nil).table.Columns(t.Context(), all)
	must.Succeed(t, err)
}

// TestSensorsBeyondTheColumnsShareOne, for ever, also where two machines take columns at once.
func TestSensorsBeyondTheColumnsShareOne(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, newAccount(t), "beyond")
	of := func(from, to int) (all []catalog.Series) {
		for n := from; n < to; n++ {
			all = append(all, catalog.Series{Sensor: fmt.Sprint("s", n), Type: delta.Double})
		}
		return append(all, catalog.Series{Sensor: "site", Type: delta.Text, About: true})
	}
	m := w.machine(t, nil)
	must.Have(m.table.Columns(t.Context(), append(of(0, catalog.MaxColumns-50), catalog.Series{Sensor: "more",
		Type: delta.Double})))(t)
	var wg sync.WaitGroup
	names := make([]map[catalog.Series]string, 2)
	for n := range names {
		wg.Go(func() {
			names[n], _ = w.machine(t, nil).table.Columns(t.Context(), of(catalog.MaxColumns-60+n*10, catalog.MaxColumns+100))
		})
	}
	wg.Wait()
	about := catalog.Series{Sensor: "labels.hall", Type: delta.Text, About: true}
	later := must.Have(m.table.Columns(t.Context(), append(of(0, catalog.MaxColumns+200), about)))(t)
	alone := 0
	for _, s := range of(0, catalog.MaxColumns+200) {
		if later[s] == "" {
			t.Errorf("%s has no column", s.Sensor)
		}
		if !s.About && later[s] != "more" {
			alone++
		}
		for n := range names {
			if name, is := names[n][s]; is && name != later[s] {
				t.Errorf("%s had the column %s, and has %s", s.Sensor, name, later[s])
			}
		}
	}
	if alone != catalog.MaxColumns-1 || later[about] != "labels_hall" {
		t.Errorf("%d sensors have columns of their own; the property of devices has %q", alone, later[about])
	}
	w.send(june, "a/1")
	must.Succeed(t, m.make(t.Context(), june))
	must.Succeed(t, m.publish(t.Context()))
	log := replayed(w.blobs(t))
	schema := log.schemas[len(log.schemas)-1]
	if n := strings.Count(schema, `"name"`); n != 2+catalog.MaxColumns+3 || !strings.Contains(schema, `"furrow.more"`) {
		t.Errorf("the schema has %d columns, the one that sensors share among them: %v", n,
			strings.Contains(schema, `"furrow.more"`))
	}
}

// TestASuspendedPublisherNotesWhenItPublished, not when it began: readers have a day for what left.
func TestASuspendedPublisherNotesWhenItPublished(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for n := range 8 {
		w := newWorld(t, a, fmt.Sprint("p", n))
		m := w.machine(t, nil)
		must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
		s := must.Have(m.table.Begin(t.Context(), day))(t)
		old := s.Files
		must.Succeed(t, m.merge(t.Context()))
		var asleep, put bool
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			asleep = true // for 26 hours
			return send()
		}}
		clock := faults.Func(func(r *http.Request) (*http.Response, error) {
			answer, err := gate.Do(r)
			put = put || !asleep && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "_delta_log")
			if err == nil && asleep {
				at, _ := http.ParseTime(answer.Header.Get("Date"))
				answer.Header.Set("Date", at.Add(26*time.Hour).Format(http.TimeFormat))
			}
			return answer, err
		})
		sleepy := w.machine(t, clock)
		must.Have(sleepy.table.Log(sleepy.objects).Publish(t.Context()))(t)
		if !asleep || put { // it published before it slept
			break
		}
		p := w.machine(t, clock)
		_, err := p.table.Log(p.objects).Publish(t.Context())
		must.Succeed(t, err)
		must.Succeed(t, w.machine(t, faults.Later(26*time.Hour+time.Minute)).clean(t.Context()))
		if _, err := m.read(t.Context(), old...); err != nil {
			t.Errorf("asleep before operation %d: a minute after the log said that they left, cleaning deletes: %v", n, err)
		}
	}
}

// TestVersionsArePublishedInOrder: a publisher of several is killed at each of its operations. Readers find no version
// without those before it, and the catalog calls no version published before it is.
func TestVersionsArePublishedInOrder(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for n, more := 0, true; more; n++ {
		w := newWorld(t, a, fmt.Sprint("o", n))
		m := w.machine(t, nil)
		must.Succeed(t, errors.Join(m.late(t.Context()), m.hour(t.Context()), m.merge(t.Context())))
		gate := &faults.Gate{At: n, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
			return nil, errors.New("killed")
		}}
		err := w.machine(t, gate).publish(t.Context())
		if more = int(gate.N.Load()) > n; more != (err != nil) {
			t.Fatalf("killed at operation %d: %v", n, err)
		}
		blobs, state := w.blobs(t), must.Have(m.table.State(t.Context()))(t)
		found := len(replayed(blobs).files)
		for name := range blobs {
			if version, is := delta.VersionOf(name); is && int(version) >= found {
				t.Errorf("killed at operation %d: readers find %s, and not version %d", n, name, found)
			}
		}
		if int(state.Published) >= found {
			t.Errorf("killed at operation %d: version %d counts as published too early", n, state.Published)
		}
		must.Succeed(t, m.publish(t.Context()))
		w.check(t, fmt.Sprint("killed at operation ", n), false)
	}
}

// TestACommittedFileThatIsGivenUpStaysADay: a job did not hear of its commit. Another replaces the file.
func TestACommittedFileThatIsGivenUpStaysADay(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for _, soon := range []bool{true, false} { // it is given up before it is replaced
		newWorld(t, a, fmt.Sprint("abandon", soon)).givesUp(t, soon)
	}
}

func (w *world) givesUp(t *testing.T, soon bool) {
	t.Helper()
	m := w.machine(t, nil)
	must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	dying := faults.Func(func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && r.Method == http.MethodPost && len(r.URL.Path) > 6 && r.URL.Path[len(r.URL.Path)-6:] == "$batch" {
			kill() // told to stop while the answer is on its way
			_ = answer.Body.Close()
			return nil, context.Canceled
		}
		return answer, err
	})
	s := must.Have(m.table.Begin(t.Context(), day))(t)
	gone := s.Files[:1]
	f := must.Have(m.put(t.Context(), []string{"a/1", "a/2", "b/1", "b/2"}, gone[0].Months...))(t)
	c := &catalog.Change{Gone: gone, New: []catalog.File{f}}
	for _, month := range gone[0].Months {
		c.Days = append(c.Days, s.Day(month))
	}
	_, err := w.machine(t, dying).table.Commit(ctx, s, c)
	if err == nil || errors.Is(err, catalog.ErrStale) {
		t.Fatal(err)
	}
	if soon {
		must.Succeed(t, m.table.Abandon(t.Context(), c.New))
	}
	must.Succeed(t, m.publish(t.Context()))
	must.Succeed(t, m.make(t.Context(), gone[0].Months[0])) // replaces it
	must.Succeed(t, m.publish(t.Context()))
	if !soon {
		must.Succeed(t, m.table.Abandon(t.Context(), c.New))
	}
	must.Succeed(t, m.clean(t.Context()))
	if _, err := m.read(t.Context(), f); err != nil {
		t.Errorf("no day after the log said that it left: %v", err)
	}
}

// TestFilesThatReadersFindStay, however old: nobody has published for days that they left.
func TestFilesThatReadersFindStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAccount(t), "unpublished")
	m := w.machine(t, nil)
	must.Succeed(t, errors.Join(m.publish(t.Context()), m.merge(t.Context()), m.cleanLater(t.Context())))
}

// TestFilesThatAreLiveStay, also where a catalog says that they have left: it is a copy that was made row by row while
// files left, and has both rows of them.
func TestFilesThatAreLiveStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAccount(t), "copied")
	m := w.machine(t, nil)
	live := must.Have(m.table.Begin(t.Context(), day))(t).Files
	rows := w.catalog(t, nil).rows
	var copied []tables.Op
	for e, err := range rows.Entities(t.Context(), tables.Query{}) {
		if must.Succeed(t, err); strings.HasPrefix(e.RowKey, "f!") {
			copied = append(copied, tables.Insert(e))
		}
	}
	must.Succeed(t, errors.Join(m.merge(t.Context()), m.publish(t.Context())))
	must.Have(rows.Submit(t.Context(), copied))(t)
	w.days(t, "copied")
	if _, err := m.read(t.Context(), live...); err != nil {
		t.Error(err)
	}
	w.checkRows(t, "copied")
}

// TestABlobThatComesLateIsDeleted: the request to put it was on its way when cleaning gave its file up.
func TestABlobThatComesLateIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAccount(t), "late")
	m := w.machine(t, nil)
	f := must.Have(m.table.Pend(t.Context(), day))(t)
	must.Succeed(t, w.machine(t, faults.Later(25*time.Hour)).clean(t.Context()))
	must.Succeed(t, m.objects.Put(t.Context(), m.table.Path(&f), []byte("a/1"), ""))
	must.Succeed(t, w.machine(t, faults.Later(50*time.Hour)).clean(t.Context()))
	if _, err := m.read(t.Context(), f); err == nil {
		t.Error("it is still there")
	}
}

// TestNoCheckpointLacksFilesOfItsVersion: its maker was suspended for days, and rows of files have gone meanwhile.
func TestNoCheckpointLacksFilesOfItsVersion(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for n := range 12 {
		w := newWorld(t, a, fmt.Sprint("k", n))
		m := w.machine(t, nil)
		must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
		asleep := false
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			must.Succeed(t, m.merge(t.Context()))
			must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
			for days := range 3 {
				must.Succeed(t, w.machine(t, faults.Later(time.Duration(days+1)*25*time.Hour)).clean(t.Context()))
			}
			asleep = true // for three days
			return send()
		}}
		c := w.machine(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			answer, err := gate.Do(r)
			if err == nil && asleep {
				at, _ := http.ParseTime(answer.Header.Get("Date"))
				answer.Header.Set("Date", at.Add(75*time.Hour).Format(http.TimeFormat))
			}
			return answer, err
		}))
		must.Succeed(t, c.table.Log(c.objects).Checkpoint(t.Context(), true))
		w.check(t, fmt.Sprint("suspended before operation ", n), false)
	}
}

// TestRowsOfEndedVersionsNameNoDevice, whatever cleaning does with them meanwhile.
func TestRowsOfEndedVersionsNameNoDevice(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for n := 0; n < 40; n += effort.Step(2) {
		w := newWorld(t, a.another(t), fmt.Sprint("r", n))
		m := w.machine(t, nil)
		must.Succeed(t, m.merge(t.Context()))
		must.Have(m.table.Log(m.objects).Publish(t.Context()))(t)
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			must.Succeed(t, w.machine(t, faults.Later(25*time.Hour)).clean(t.Context())) // the day is over
			return send()
		}}
		e := w.machine(t, gate)
		must.Succeed(t, e.erase(t.Context(), "a"))
		must.Succeed(t, e.table.Cleaner(e.objects).EndVersions(t.Context()))
		must.Succeed(t, e.clean(t.Context()))
		for row, err := range w.catalog(t, nil).rows.Entities(t.Context(), tables.Query{}) {
			must.Succeed(t, err)
			if text := row.Get("Stats").Text(); strings.Contains(text, "a/") {
				t.Errorf("cleaning at operation %d: row %s still says %s", n, row.RowKey, text)
			}
		}
		if int(gate.N.Load()) <= n {
			break
		}
	}
}

// TestManyMakersCommitAtOnce: each makes the day of a partition of its own.
func TestManyMakersCommitAtOnce(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, newAccount(t), "crowd")
	var wg sync.WaitGroup
	for n := range 36 {
		m := w.machine(t, nil)
		wg.Go(func() {
			_, err := m.table.Columns(t.Context(), []catalog.Series{{Sensor: fmt.Sprint("s", n), Type: delta.Double}})
			if err != nil {
				t.Errorf("columns: %v", err)
			}
			month := schema.Month{Year: 2020 + n/12, Month: time.Month(1 + n%12)}
			s, err := m.table.Begin(t.Context(), day)
			if err != nil {
				t.Error(err)
				return
			}
			f, err := m.table.Pend(t.Context(), day)
			if err != nil {
				t.Error(err)
				return
			}
			f.Months = []schema.Month{month}
			_, err = m.table.Commit(t.Context(), s, &catalog.Change{Days: []catalog.Day{s.Day(month)}, New: []catalog.File{f}})
			if err != nil {
				t.Errorf("commit: %v", err)
			}
		})
	}
	wg.Wait()
}

// TestATableIsMadeOnce, by any number of machines.
func TestATableIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, newAccount(t), "crowd")
	table := func() *catalog.Table { return w.catalog(t, nil).Table(w.tenant, "other") }
	var wg sync.WaitGroup
	for range 20 {
		one := table()
		wg.Go(func() {
			if err := one.Create(t.Context(), []delta.Column{{Name: "date", Type: delta.Date}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	must.Have(table().Log(w.machine(t, nil).objects).Publish(t.Context()))(t)
}
