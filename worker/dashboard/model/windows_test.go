package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// rowsOf returns the device and time of each row of an answer, or for newest values the device.
func rowsOf(t *testing.T, a Export, err error) (all []string) {
	t.Helper()
	must.Succeed(t, err)
	for row, err := range a.Rows {
		must.Succeed(t, err)
		switch row := row.(type) {
		case answers.SensorWindows:
			all = append(all, fmt.Sprint(row.Device, tables.TicksOf(row.Time)))
		case answers.NewestValues:
			all = append(all, row.Device)
		}
	}
	if int64(len(all)) != a.Answer.Reach().Count || a.Answer.Reach().RowsRead < a.Answer.Reach().Count {
		t.Errorf("%d rows, and it says %+v", len(all), *a.Answer.Reach())
	}
	return all
}

// TestPartsOfWindowsAreTheWhole asks for random devices in parts of random sizes, and compares with the windows of each
// device alone. Windows are of two days.
func TestPartsOfWindowsAreTheWhole(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 30)
	for _, d := range f.Devices {
		f.Send(t, d.ID, time.Now().Add(-26*time.Hour), map[string]any{"temperature": 1.0})
		f.Send(t, d.ID, time.Now().Add(-25*time.Hour), map[string]any{"temperature": 2.0})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		q := FleetQuery{From: time.Now().Add(-48 * time.Hour), To: time.Now(), Part: Part{Limit: MaxRows, Asked: "x"},
			Window: []string{"1m", "1h", "1d"}[random.IntN(3)]}
		selected := func(schema.Device) bool { return true }
		switch random.IntN(4) {
		case 0:
			q.Filter.Tenant = "contoso"
			selected = func(d schema.Device) bool { return d.Tenant == "contoso" }
		case 1:
			q.Filter.Site = "hall3"
			selected = func(d schema.Device) bool { return d.Site == "hall3" }
		case 2:
			for range 1 + random.IntN(4) {
				q.Devices = append(q.Devices, string(f.Devices[random.IntN(30)].ID))
			}
			selected = func(d schema.Device) bool { return slices.Contains(q.Devices, string(d.ID)) }
		}
		var want []string
		window := must.Have(schema.ParseWindow(q.Window))(t)
		for _, d := range f.Devices {
			ask := query.Question{Scope: query.ScopeOf(d.Member()), Span: spanOf(q.From, q.To), Window: window}
			for b, err := range s.Accounts.all[0].fleet.Outputs().Rollups(t.Context(), ask) {
				must.Succeed(t, err)
				if selected(d) {
					want = append(want, fmt.Sprint(b.Device, b.Start))
				}
			}
		}
		answer, err := s.FleetRows.Windows(t.Context(), q)
		whole := rowsOf(t, answer, err)
		sorted := slices.Sorted(slices.Values(whole))
		slices.Sort(want)
		if !slices.Equal(sorted, want) || len(want) == 0 || answer.Answer.Reach().Next != "" {
			t.Fatalf("%+v: got\n%q, want\n%q", q, sorted, want)
		}
		var parts []string
		q.Limit = 1 + random.IntN(len(whole))
		for {
			answer, err = s.FleetRows.Windows(t.Context(), q)
			part := rowsOf(t, answer, err)
			if parts = append(parts, part...); len(part) > q.Limit || len(parts) > len(whole) {
				break
			}
			if q.After = answer.Answer.Reach().Next; q.After == "" {
				break
			}
			q.From, q.To = q.From.Add(time.Second), q.To.Add(time.Second) // the cursor knows better
		}
		if !slices.Equal(parts, whole) {
			t.Fatalf("%+v: in parts\n%q\nwhole\n%q", q, parts, whole)
		}
	}
}

// TestWindowsGoOn has each part end as soon as it may, also behind windows that come again at its beginning, and behind
// those of a device that nobody knows any more, which are read with those of its neighbours.
func TestWindowsGoOn(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 24)
	for _, name := range []string{f.Names.Devices(), f.Names.Fleet(), f.Names.Output("latest")} {
		erase(t, f.Client.Table(name), "d0011")
	}
	s := over(t, f)
	look(t, s)
	for _, window := range []string{"1m", "1h", "1d"} {
		q := FleetQuery{From: time.Now().Add(-48 * time.Hour), To: time.Now(), Part: Part{Limit: MaxRows}, Window: window}
		answer, err := s.FleetRows.Windows(t.Context(), q)
		whole := rowsOf(t, answer, err)
		var all []string
		for parts := 0; (parts == 0 || q.After != "") && parts <= 2*len(whole); parts++ {
			answer, err = s.FleetRows.Windows(t.Context(), q)
			answer.Answer.Reach().End()
			all = append(all, rowsOf(t, answer, err)...)
			q.After = answer.Answer.Reach().Next
		}
		if !slices.Equal(all, whole) || len(whole) < 23 {
			t.Errorf("%s: in parts %q, and the whole is %q", window, all, whole)
		}
	}
}

// TestWindowsGoOnWithoutTheirLastDevice: it is erased after the first part, and another dashboard, which never knew it,
// is asked for the others. The rest of its tenant comes once all the same.
func TestWindowsGoOnWithoutTheirLastDevice(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 24)
	s := over(t, f)
	look(t, s)
	q := FleetQuery{From: time.Now().Add(-24 * time.Hour), To: time.Now().Add(24 * time.Hour), Window: "1d",
		Part: Part{Limit: MaxRows}}
	answer, err := s.FleetRows.Windows(t.Context(), q)
	whole := rowsOf(t, answer, err)
	q.Limit = len(whole) / 3
	answer, err = s.FleetRows.Windows(t.Context(), q)
	all := rowsOf(t, answer, err)
	last := all[len(all)-1][:len("d0000")]
	want := append(slices.Clone(all), slices.DeleteFunc(slices.Clone(whole[len(all):]), func(row string) bool {
		return strings.HasPrefix(row, last) // shortly after midnight, there is another day
	})...)
	for _, name := range []string{f.Names.Devices(), f.Names.Fleet(), f.Names.Output("latest"),
		f.Names.Output("rollups")} {
		erase(t, f.Client.Table(name), last)
	}
	another := over(t, f)
	look(t, another)
	q.Limit, q.After = MaxRows, answer.Answer.Reach().Next
	answer, err = another.FleetRows.Windows(t.Context(), q)
	if all = append(all, rowsOf(t, answer, err)...); !slices.Equal(all, want) || len(whole) < 24 {
		t.Errorf("in parts %q, want %q", all, want)
	}
}

// erase deletes the rows of a device.
func erase(t *testing.T, table *tables.Table, id string) {
	t.Helper()
	for e, err := range table.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		if strings.Contains(e.PartitionKey+e.RowKey, id) {
			must.Have(table.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
		}
	}
}

// TestPartsOfNewestValuesAreTheWhole has a limit of each size.
func TestPartsOfNewestValuesAreTheWhole(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 7)
	s := over(t, f)
	look(t, s)
	answer, err := s.FleetRows.Newest(t.Context(), FleetQuery{Part: Part{Limit: 100}})
	whole := rowsOf(t, answer, err)
	if len(whole) != 7 {
		t.Fatalf("%q", whole)
	}
	for limit := 1; limit < 9; limit++ {
		var parts []string
		q := FleetQuery{Part: Part{Limit: limit}}
		for {
			answer, err := s.FleetRows.Newest(t.Context(), q)
			parts = append(parts, rowsOf(t, answer, err)...)
			if q.After = answer.Answer.Reach().Next; q.After == "" {
				break
			}
		}
		if !slices.Equal(parts, whole) {
			t.Errorf("%d at a time: %q", limit, parts)
		}
	}
}

// TestQuestionsThatAreTooWideAreRefused says what to do instead. There are readings of three years.
func TestQuestionsThatAreTooWideAreRefused(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	now := time.Now()
	f.Add(t, schema.Device{ID: "old", Tenant: "contoso"})
	f.Send(t, "old", now.AddDate(-3, 0, 0), map[string]any{"temperature": 7.0})
	f.Grow(t, 29)
	s := over(t, f)
	look(t, s)
	for want, q := range map[string]FleetQuery{
		"30 devices have too many windows of 1m": {From: now.AddDate(-4, 0, 0), To: now,
			Window: "1m"},
		`there is no window "5m"; there are auto, newest, 1m, 1h, 1d`: {From: now.Add(-time.Hour), To: now, Window: "5m"},
		"temperature/h is a rate": {From: now.Add(-time.Hour), To: now,
			Sensors: []string{"temperature/h"}},
		`there is no sensor "hum"; there are`: {From: now.Add(-time.Hour), To: now,
			Sensors: []string{"hum"}},
	} {
		_, err := s.FleetRows.Windows(t.Context(), q)
		if problem, is := errors.AsType[*QueryError](err); !is || !strings.HasPrefix(problem.Detail, want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := s.FleetRows.Windows(t.Context(), FleetQuery{From: now.Add(-time.Hour), To: now,
		Devices: []string{"d0001", "d0099"}}); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown device: %v", err)
	}
	only := Within(t.Context(), "contoso")
	if _, err := s.FleetRows.Windows(only, FleetQuery{From: now.Add(-time.Hour), To: now,
		Devices: []string{"d0001"}}); !errors.Is(err,
		ErrUnknown) {
		t.Errorf("a device of another tenant: %v", err)
	}
}

// TestWindowsReadNeighboursTogether counts the storage operations for many devices.
func TestWindowsReadNeighboursTogether(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 30)
	s := over(t, f)
	look(t, s)
	to := schema.DayOf(tables.TicksOf(time.Now())).Start().Time().Add(24 * time.Hour)
	for _, c := range []struct {
		filter Filter
		window string
		most   int // two tenants, three months
	}{{Filter{}, "1h", 6}, {Filter{Site: "hall3"}, "1h", 6}, {Filter{Tenant: "contoso"}, "1m", 3}} {
		ask := FleetQuery{Filter: c.filter, From: to.Add(-24 * time.Hour), To: to, Window: c.window, Part: Part{Limit: 1000}}
		ctx, read := Reading(context.Background())
		answer, err := s.FleetRows.Windows(ctx, ask)
		before := read.Operations()
		rowsOf(t, answer, err)
		if n := read.Operations() - before; n > c.most || n == 0 {
			t.Errorf("%+v by %s: %d operations, want at most %d", c.filter, c.window, n, c.most)
		}
	}
}

// TestDeviceThatRegistersAgainHasItsWindows: it was erased, and has registered again in another month, where its
// outputs are from then on.
func TestDeviceThatRegistersAgainHasItsWindows(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7", Month: schema.Month{Year: 2026, Month: 8}})
	s := over(t, f)
	look(t, s)
	again := schema.Device{ID: "pump-7", Month: schema.Month{Year: 2026, Month: 11}}
	f.Devices = nil
	f.Add(t, again)
	f.Send(t, "pump-7", time.Now().Add(-time.Minute), map[string]any{"temperature": 1.0})
	f.Fold(t)
	must.Succeed(t, s.Accounts.all[0].poller.allRecords(t.Context()))
	look(t, s)
	answer, err := s.FleetRows.Windows(t.Context(), FleetQuery{From: time.Now().Add(-24 * time.Hour), To: time.Now(),
		Window: "1d", Part: Part{Limit: MaxRows}})
	if rows := rowsOf(t, answer, err); len(rows) != 1 {
		t.Errorf("its windows are %q", rows)
	}
}
