package archive_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An asker asks for a day, as marks do that were left and read at some time.
type asker struct {
	*tablesFleet
	m     *archive.Tables
	sent  atomic.Int64 // requests
	began tables.Ticks // of the test
}

func newAsker(t *testing.T) *asker {
	t.Helper()
	// Of three days, as the whole of the day before yesterday has rows then, whatever the time of day.
	a := &asker{tablesFleet: newTablesSince(t, 3, 45), began: tables.TicksOf(time.Now())}
	a.m = a.maker(t, faults.Func(func(r *http.Request) (*http.Response, error) {
		a.sent.Add(1)
		return http.DefaultClient.Do(r)
	}))
	a.m.Summed = archive.Summed{}
	return a
}

// asks asks for the whole day, or for what the first devices have sent late, and reports whether it was made.
func (a *asker) asks(t *testing.T, devices int, left, read tables.Ticks) bool {
	t.Helper()
	mark := schema.Mark{Month: a.day.Month, Kind: schema.ArchiveMark, Tenant: a.day.Tenant, Name: a.day.When(),
		At: left, Read: read}
	marks := []schema.Mark{mark}
	for n := range devices {
		mark.Name = schema.ArchivePart{Day: a.day.Day, Device: a.World.Devices[n]}.Name()
		mark.At = left.Add(-time.Duration(n) * time.Minute)
		if n == 0 {
			marks = nil
		}
		marks = append(marks, mark)
	}
	before := a.changed(t)
	err := a.m.Make(t.Context(), marks)
	if err != nil && !errors.Is(err, groups.ErrNotYet) {
		t.Fatal(err)
	}
	if is := a.changed(t) > before; is != (err == nil) {
		t.Fatalf("made: %v, error %v", is, err)
	}
	return err == nil
}

// changed returns the version that has changed the day.
func (a *asker) changed(t *testing.T) tables.Ticks {
	t.Helper()
	return must.Have(a.m.Readings(a.day.Tenant).Day(t.Context(), a.day.Day, a.day.Month))(t).Changed
}

// TestWholeDaysAreMadeAtOnce once they are closed, however often: settings have changed, or somebody has asked.
func TestWholeDaysAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	a.m.CloseAfter = time.Hour
	_, end := a.day.Times()
	closed := end.Add(time.Hour)
	if a.asks(t, 0, end, closed-1) {
		t.Error("it was made before it was closed")
	}
	sent := a.sent.Load()
	if a.asks(t, 2, closed-2, closed-1); a.sent.Load()-sent > 2 { // those of changed
		t.Errorf("a day that is open costs %d requests", a.sent.Load()-sent-2)
	}
	for n := range 3 {
		if !a.asks(t, 0, closed, max(closed, a.began)) {
			t.Errorf("making %d waits", n)
		}
	}
}

// TestADayThatHasJustClosedIsMadeAtOnce whoever has sent rows of it a moment ago.
func TestADayThatHasJustClosedIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	a.m.CloseAfter = time.Hour
	_, end := a.day.Times()
	if closed := end.Add(time.Hour); !a.asks(t, 2, closed-1, closed) {
		t.Error("it waits")
	}
}

// TestAnImportMakesEachDayOnce when no rows have come for two minutes; a clock that was ahead when they came is no
// reason to wait for it.
func TestAnImportMakesEachDayOnce(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	_, end := a.day.Times()
	at := end + 10*tables.Day
	for n := range 5 {
		if a.asks(t, 3, at.Add(time.Duration(n)*time.Minute), at.Add(time.Duration(n)*time.Minute+time.Second)) {
			t.Fatal("it is made while rows come")
		}
	}
	last := at.Add(4 * time.Minute)
	sent := a.sent.Load()
	if a.asks(t, 3, last, last.Add(2*time.Minute-1)) {
		t.Error("it is made before two minutes are over")
	}
	if n := a.sent.Load() - sent - 2; n > 0 { // those of changed
		t.Errorf("marks that wait cost %d requests", n)
	}
	if !a.asks(t, 3, last, last.Add(2*time.Minute)) {
		t.Error("it is not made after two minutes")
	}
	same(t, a.read(t), a.want(t))
	a.again(t)
	a.m = a.maker(t, nil)
	if !a.asks(t, 3, at.Add(10*time.Hour), at) {
		t.Error("it waits for a clock that was ahead")
	}
}

// TestLateRowsAreTakenInHourly, and for nothing until then in the same process. Marks with a clock that was ahead do
// not keep it from that, nor does a file of the future.
func TestLateRowsAreTakenInHourly(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	a.day.Day-- // which was over an hour ago, whatever the time
	if !a.asks(t, 0, a.began, a.began) {
		t.Fatal("it was not made at first")
	}
	a.late(t, a.World.Devices[0], a.day.Day.Start())
	made := a.modified(t)
	for _, after := range []time.Duration{time.Second, time.Minute, 20 * time.Minute, time.Hour - 1} {
		sent := a.sent.Load()
		if a.asks(t, 1, made.Add(time.Second), made.Add(after)) {
			t.Errorf("it is made again %v after it was made", after)
		}
		if n := a.sent.Load() - sent - 2; n > 0 && after > time.Second { // the first finds out; those of changed
			t.Errorf("after %v, marks that wait cost %d requests", after, n)
		}
	}
	if !a.asks(t, 1, made.Add(time.Second), made.Add(time.Hour)) {
		t.Error("it is not made after an hour")
	}
	same(t, a.read(t), a.want(t))
	a.late(t, a.World.Devices[0], a.day.Day.Start()+1)
	if !a.asks(t, 1, made-tables.Hour, made-tables.Hour) {
		t.Error("a day that was made in the future waits for it")
	}
	// A clock that is ten hours ahead notes how long the day waits.
	made = a.modified(t)
	a.m.Replace = 11 * time.Hour
	if a.asks(t, 1, made+10*tables.Hour, made+10*tables.Hour) {
		t.Error("it does not wait")
	}
	a.m.Replace = 0
	a.late(t, a.World.Devices[0], a.day.Day.Start()+2)
	if !a.asks(t, 1, made+10, made+2*tables.Hour) {
		t.Error("it waits for a clock that was ahead")
	}
}

// modified returns when the newest file of the day was committed.
func (a *asker) modified(t *testing.T) (last tables.Ticks) {
	t.Helper()
	for _, f := range must.Have(collected(a.m.Readings(a.day.Tenant).AllFiles(t.Context())))(t) {
		last = max(last, tables.TicksOf(time.UnixMilli(f.Modified)))
	}
	return last
}

// TestManyLateRowsAreTakenInSoon: a third of the day's rows or more wait ten minutes, and until no more come,
// but never longer than an hour.
func TestManyLateRowsAreTakenInSoon(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	if !a.asks(t, 0, a.began, a.began) {
		t.Fatal("it was not made at first")
	}
	client := a.World.Connect(t, nil)
	var all []tables.Entity
	for n := range 200 {
		e := tables.Entity{PartitionKey: string(a.World.Devices[0]),
			RowKey: fmt.Sprint(a.day.Day.Start()+tables.Ticks(n+2), "-many")}
		e.Set("many", tables.Double(float64(n)))
		all = append(all, e)
	}
	jobstest.Insert(t, client.Table(a.Readings), all...)
	f := *a.Fleet
	f.Names = a.source
	must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
	made := a.modified(t)
	for _, w := range []struct {
		left, read time.Duration
		made       bool
	}{
		{time.Minute, 2 * time.Minute, false},
		{time.Minute, 10*time.Minute - 1, false},
		{9 * time.Minute, 10 * time.Minute, false},
		{58 * time.Minute, 59 * time.Minute, false},
		{9 * time.Minute, 11 * time.Minute, true},
	} {
		a.m = a.maker(t, nil) // another process
		if is := a.asks(t, 2, made.Add(w.left), made.Add(w.read)); is != w.made {
			t.Errorf("rows that came until %v after it was made, and %v after that: made again: %v", w.left, w.read, is)
		}
	}
	same(t, a.read(t), a.want(t))
}
