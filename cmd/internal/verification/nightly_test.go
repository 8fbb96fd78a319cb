package verification_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/verification"
	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// nights is a fleet with a reading per device on each of some days, all folded, and a clock at the first night.
type nights struct {
	*verification.Nightly
	client   *tables.Client
	world    *jobstest.World
	config   *config.Config
	files    config.Pipeline // an archive, which is not in the configuration
	now      time.Time
	first    schema.Day // with readings
	readings string
	devices  []schema.DeviceID
}

const nightDays = 6

func newNights(t *testing.T, devices int, verify string) *nights {
	t.Helper()
	c := must.Have(config.Parse("furrow.yaml", []byte("pipelines:\n- {name: live, settle: 1s, processors: [latest, "+
		"rollup: {windows: [1h, 1d]}, rules]}\n- {name: files, settle: 1s, processors: [archive: {closeAfter: 1s}]}\n"+
		"verify: "+verify)))(t)
	w := jobstest.NewWorldSince(t, time.Hour, devices, 0)
	w.Create(t, w.Readings)
	fleet, client := w.NewFleet(t), w.Connect(t, nil)
	n := &nights{client: client, world: w, config: c, first: schema.DayOf(tables.TicksOf(time.Now())) - nightDays - 1,
		readings: fleet.Readings, devices: w.Devices}
	w.Create(t, fleet.Names.Devices())
	for _, d := range w.Devices {
		m := w.Member(d, fleet.Readings)
		record := schema.Device{ID: d, Month: m.Month, Tenant: m.Tenant, Readings: m.Readings, Status: schema.Active}
		jobstest.Insert(t, client.Table(fleet.Names.Devices()), must.Have(record.Entity())(t))
		var rows []tables.Entity
		for day := n.first; day < n.first+nightDays; day++ {
			e := tables.Entity{PartitionKey: string(d), RowKey: (day.Start() + tables.Hour).String()}
			e.Set("temp", tables.Double(20))
			rows = append(rows, e)
		}
		jobstest.Insert(t, client.Table(fleet.Readings), rows...)
	}
	must.Succeed(t, fleet.Drain(t.Context(), must.Have(c.Pipelines[0].Build(client, fleet.Names, nil))(t)))
	n.files = c.Pipelines[1]
	c.Pipelines = c.Pipelines[:1]
	n.now = (n.first + 1).Start().Time().Add(4 * time.Hour)
	n.Nightly = &verification.Nightly{Client: client, Names: fleet.Names, Name: "a", Log: slog.New(slog.DiscardHandler),
		Config: func() ([]config.Pipeline, int64) { return c.Pipelines, 0 }, Now: func() time.Time { return n.now }}
	return n
}

// night verifies the sample of a night, and moves the clock to the next one.
func (n *nights) night(t *testing.T) schema.Verification {
	t.Helper()
	if !must.Have(n.Once(t.Context()))(t) {
		t.Fatalf("nothing was verified at %s", n.now)
	}
	if must.Have(n.Once(t.Context()))(t) {
		t.Fatalf("at %s, two samples", n.now)
	}
	n.now = n.now.AddDate(0, 0, 1)
	return n.state(t)
}

func (n *nights) progress() query.Progress { return query.Progress{Tables: n.client, Names: n.Names} }

func (n *nights) state(t *testing.T) schema.Verification {
	t.Helper()
	return must.Have(n.progress().Verification(t.Context()))(t)
}

// TestSamplesReachEveryDeviceOnce: four nights of a quarter verify each device on one of them, each with its day.
func TestSamplesReachEveryDeviceOnce(t *testing.T) {
	t.Parallel()
	n := newNights(t, 40, "{sample: 25%}")
	for range 4 {
		if s := n.night(t); s.Unexplained != 0 || len(s.Differ) > 0 {
			t.Errorf("%+v", s)
		}
	}
	var sum, tenants schema.Verified
	nights := 0
	for _, v := range must.Have(n.progress().Verified(t.Context(), n.first, n.first+3))(t) {
		if v.Tenant != "" {
			tenants.Add(v)
			continue
		}
		if sum.Add(v); v.Devices == 0 || v.Share != 0.25 || v.At == 0 {
			t.Errorf("%+v", v)
		}
		nights++
	}
	if nights != 4 || sum.Devices != 40 || sum.Stored != 40 || sum.Folded != 40 || sum.ToFold != 40 ||
		fmt.Sprint(tenants) != fmt.Sprint(schema.Verified{Devices: 40, Stored: 40, Folded: 40, ToFold: 40,
			Reasons: map[string]int64{}}) {
		t.Errorf("in %d nights: %+v, of tenants %+v", nights, sum, tenants)
	}
}

// TestDifferencesStayUntilTheyAreGone deletes readings behind a device's back, and brings them back two nights after a
// sample had the device. It is in one sample of two, and named until then.
func TestDifferencesStayUntilTheyAreGone(t *testing.T) {
	t.Parallel()
	n := newNights(t, 4, "{sample: 50%}")
	table, d := n.client.Table(n.readings), n.devices[0]
	var gone []tables.Entity
	for day := n.first; day < n.first+2; day++ {
		e := must.Have(table.Get(t.Context(), string(d), (day.Start() + tables.Hour).String()))(t)
		must.Have(table.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
		gone = append(gone, e)
	}
	names := func(s schema.Verification) bool {
		return slices.ContainsFunc(s.Differ, func(of schema.Differing) bool { return of.Device == d })
	}
	first := n.night(t)
	for night := range 3 {
		s := n.night(t)
		if !names(s) || s.Unexplained == 0 || names(first) && s.Differ[0].Day != n.first.String() {
			t.Errorf("night %d: %+v", night, s)
		}
	}
	for _, e := range gone {
		must.Have(table.Do(t.Context(), tables.Insert(e)))(t)
	}
	if s := n.night(t); s.Unexplained != 0 || len(s.Differ) > 0 {
		t.Errorf("after they are back: %+v", s)
	}
	found := int64(0)
	for _, v := range must.Have(n.progress().Verified(t.Context(), n.first, n.first+nightDays))(t) {
		found += v.Unexplained
	}
	if found == 0 {
		t.Error("no row of a tenant and day has them")
	}
}

// TestOneProcessVerifiesAtATime: while one has the row, another one does nothing. If it has died, or its clock was far
// ahead, another one verifies.
func TestOneProcessVerifiesAtATime(t *testing.T) {
	t.Parallel()
	n := newNights(t, 2, "{sample: 100%, every: 1d}")
	runs := n.client.Table(n.Names.Runs())
	for minutes, verifies := range map[int]bool{5: false, 15: false, -1: true, 24 * 60: true} {
		n.now = n.now.AddDate(0, 0, 1)
		s := n.state(t)
		s.By, s.Until = "b", tables.TicksOf(n.now.Add(time.Duration(minutes)*time.Minute))
		must.Have(runs.Do(t.Context(), tables.InsertOrReplace(must.Have(s.Entity())(t))))(t)
		if got := must.Have(n.Once(t.Context()))(t); got != verifies {
			t.Errorf("held for %d minutes more: it verifies is %v", minutes, got)
		}
	}
}

// TestNothingIsVerifiedByDay: a sample is due after three in the morning, for the days since the last one.
func TestNothingIsVerifiedByDay(t *testing.T) {
	t.Parallel()
	n := newNights(t, 2, "{sample: 100%, every: 2d}")
	n.night(t)
	var at []string
	for range 80 {
		if must.Have(n.Once(t.Context()))(t) {
			at = append(at, n.now.Sub(n.first.Start().Time()).String())
		}
		n.now = n.now.Add(time.Hour)
	}
	if fmt.Sprint(at) != "[75h0m0s]" && fmt.Sprint(at) != "[75h0m0s 123h0m0s]" {
		t.Errorf("it was verified %s after the first day began", at)
	}
	days := 0
	for _, v := range must.Have(n.progress().Verified(t.Context(), n.first-2, n.first+2))(t) {
		if v.Tenant == "" {
			days++
		}
	}
	if days != 4 {
		t.Errorf("%d days were verified", days)
	}
}

// TestSampleContinuesWhereItWasKilled: a process dies among the devices of the second tenant. The next one reads none
// of the first one again, and knows what was found there.
func TestSampleContinuesWhereItWasKilled(t *testing.T) {
	t.Parallel()
	n := newNights(t, 24, "{sample: 100%}") // eight are read at a time
	table, differs := n.client.Table(n.readings), n.devices[0]
	must.Have(table.Do(t.Context(), tables.Delete(string(differs), (n.first.Start()+tables.Hour).String(),
		tables.AnyETag)))(t)
	n.Now = func() time.Time {
		n.now = n.now.Add(30 * time.Second)
		return n.now
	}
	killed, kill := context.WithCancel(t.Context())
	reads := map[schema.DeviceID]int{}
	watch := func(then func(schema.DeviceID) error) *tables.Client {
		var mu sync.Mutex
		return n.world.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range n.devices {
				text, _ := url.QueryUnescape(r.URL.RawQuery)
				if strings.Contains(r.URL.Path, n.readings) && strings.Contains(text, "'"+string(d)+"'") {
					if reads[d]++; then != nil && then(d) != nil {
						return nil, context.Canceled
					}
				}
			}
			return http.DefaultClient.Do(r)
		}))
	}
	n.Client = watch(func(d schema.DeviceID) error {
		if d == n.devices[23] {
			kill()
		}
		return killed.Err()
	})
	if _, err := n.Once(killed); err == nil || reads[differs] == 0 {
		t.Fatalf("it was not killed: %v, %v", err, reads)
	}
	if s := n.state(t); s.Number != 0 || s.At != 0 || s.After == "" {
		t.Fatalf("after it was killed: %+v", s)
	}
	if rows := must.Have(n.progress().Verified(t.Context(), n.first, n.first))(t); len(rows) != 0 {
		t.Errorf("half a sample is shown: %+v", rows)
	}
	clear(reads)
	n.now, n.Client = n.now.Add(time.Hour), watch(nil)
	s := n.night(t)
	if reads[differs] != 0 || reads[n.devices[23]] == 0 {
		t.Errorf("it reads again: %v", reads)
	}
	if s.Unexplained == 0 || len(s.Differ) == 0 || s.Differ[0].Device != differs || s.Last.Devices != 24 ||
		s.Last.Stored != 23 || s.After != "" || len(s.Found) != 0 {
		t.Errorf("after both: %+v", s)
	}
}

// loseFiles has an archive of the first days without its files, which it returns.
func (n *nights) loseFiles(t *testing.T, days schema.Day) (store *archive.Store, gone map[string][]byte) {
	t.Helper()
	store = must.Have(archive.Connect(archive.StoreConfig{Account: n.world.Account, Container: n.Names.Archive()}))(t)
	must.Succeed(t, store.Create(t.Context()))
	n.files.Format = archive.Format
	built := must.Have(n.files.Build(n.client, n.Names, store))(t)
	for _, d := range n.devices {
		m := n.world.Member(d, "")
		for day := n.first; day < n.first+days; day++ {
			must.Succeed(t, built.Groups[schema.ArchiveMark].(*archive.Tables).MakeDay(t.Context(), archive.TableDay{
				Tenant: m.Tenant, Month: m.Month, Day: day}))
		}
	}
	gone = map[string][]byte{}
	for o, err := range store.List(t.Context(), "") {
		if must.Succeed(t, err); strings.HasSuffix(o.Name, ".parquet") {
			gone[o.Name], _, err = store.Get(t.Context(), o.Name)
			must.Succeed(t, errors.Join(err, store.Delete(t.Context(), o.Name)))
		}
	}
	n.config.Pipelines = append(n.config.Pipelines, n.files)
	n.Nightly.Archive, n.Nightly.Config = store, func() ([]config.Pipeline, int64) {
		return n.config.Pipelines, archive.Format
	}
	return store, gone
}

// TestSamplesReachTheArchive: no file is there, and each tenant's are looked for on one of two nights. From then on
// they are named each night until they are back.
func TestSamplesReachTheArchive(t *testing.T) {
	t.Parallel()
	n := newNights(t, 4, "{sample: 50%}")
	store, gone := n.loseFiles(t, 2)
	before := 0
	for night := range 5 {
		least, most := before, 2
		switch night {
		case 1:
			least = 2
		case 3:
			for name, file := range gone {
				must.Succeed(t, store.Put(t.Context(), name, file, ""))
			}
			least, most = 0, 0
		}
		s, missing := n.night(t), map[schema.Tenant]bool{}
		for _, of := range s.Differ {
			if of.Output == "archive files" {
				missing[of.Tenant] = true
			}
		}
		before = len(missing)
		if before < least || before > most || (before > 0) != (s.Unexplained > 0) {
			t.Errorf("night %d: files of %d tenants are missing, want %d to %d: %+v", night, before, least, most, s)
		}
	}
}

// TestFilesAreNamedOnceWhateverSampleHasThem: shares of 30 % overlap from the fourth night on. Each has the files of a
// new day, and none of them is there.
func TestFilesAreNamedOnceWhateverSampleHasThem(t *testing.T) {
	t.Parallel()
	n := newNights(t, 4, "{sample: 30%}")
	n.loseFiles(t, nightDays)
	for night := range int64(nightDays) {
		s, named := n.night(t), map[schema.Tenant]bool{}
		for _, of := range s.Differ {
			if named[of.Tenant] || of.Count > night+1 {
				t.Errorf("night %d: %+v", night, s.Differ)
			}
			named[of.Tenant] = true
		}
		most := (night + 1) * int64(len(named))
		if s.Unexplained > most || night == nightDays-1 && s.Unexplained < 2*nightDays {
			t.Errorf("night %d: %d differences, and %d files are not there", night, s.Unexplained, most)
		}
	}
}

// TestSampleCountsFilesOnceWhereItWasKilled: a process dies among the devices of the second tenant. The next one does
// not count the files of the first one again, although it has devices behind the last of the sample.
func TestSampleCountsFilesOnceWhereItWasKilled(t *testing.T) {
	t.Parallel()
	n := newNights(t, 48, "{sample: 50%}") // eight are read at a time
	n.loseFiles(t, 2)
	n.Now = func() time.Time {
		n.now = n.now.Add(30 * time.Second)
		return n.now
	}
	killed, kill := context.WithCancel(t.Context())
	var mu sync.Mutex
	second := map[schema.DeviceID]bool{}
	n.Client = n.world.Connect(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		text, _ := url.QueryUnescape(r.URL.RawQuery)
		for _, d := range n.devices {
			of := strings.Contains(r.URL.Path, n.readings) && strings.Contains(text, "'"+string(d)+"'")
			if of && n.world.Member(d, "").Tenant == "t1" {
				second[d] = true
			}
		}
		if len(second) > 8 {
			kill()
			return nil, context.Canceled
		}
		return http.DefaultClient.Do(r)
	}))
	if _, err := n.Once(killed); err == nil {
		t.Fatal("it was not killed")
	}
	first := func() (unexplained int64) {
		in := tables.Query{Range: schema.VerifiedIn(n.first, n.first)}
		for e, err := range n.client.Table(n.Names.Runs()).Entities(t.Context(), in) {
			must.Succeed(t, err)
			if v := must.Have(schema.VerifiedOf(e))(t); v.Tenant == "t0" {
				unexplained = v.Unexplained
			}
		}
		return unexplained
	}
	want := first()
	n.now, n.Client = n.now.Add(time.Hour), n.client
	n.night(t)
	if got := first(); got != want || want == 0 {
		t.Errorf("%d differences of the first tenant, %d when it was killed", got, want)
	}
}
