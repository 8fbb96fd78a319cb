package model

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestPagesFollowTheConfiguration asks for a newer configuration every 10 s.
func TestPagesFollowTheConfiguration(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	s := over(t, f)
	asked, newer := 0, false
	s.Accounts.all[0].Newer = func(context.Context) ([]Pipeline, bool, error) {
		asked++
		return []Pipeline{{Name: "quarters", Windows: []schema.Window{schema.Window(15 * time.Minute)}}}, newer, nil
	}
	names := func() (all []string) {
		a, err := s.Pipelines.All(t.Context())
		must.Succeed(t, err)
		for _, p := range a.Pipelines {
			all = append(all, p.Pipeline)
		}
		return all
	}
	look(t, s)
	look(t, s)
	if got := names(); asked != 1 || !slices.Equal(got, []string{"live"}) {
		t.Errorf("asked %d times, and shows %v", asked, got)
	}
	newer = true
	s.Accounts.all[0].poller.configured = time.Now().Add(-newerInterval)
	look(t, s)
	windows := s.Accounts.Configured().windows()
	if got := names(); asked != 2 || !slices.Equal(got, []string{"quarters"}) || len(windows) != 1 {
		t.Errorf("asked %d times, and shows %v with windows %v", asked, got, s.Accounts.Configured().windows())
	}
}

// TestLongRunIsShown has a run that took 44 minutes, and slots that were skipped meanwhile.
func TestLongRunIsShown(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	now := time.Now().Truncate(time.Minute)
	slot := func(ago int) tables.Ticks { return tables.TicksOf(now.Add(-time.Duration(ago) * time.Minute)) }
	write := func(e tables.Entity, err error) {
		must.Succeed(t, err)
		f.Write(t, f.Names.Runs(), e)
	}
	write(schema.Run{Pipeline: "live", Slot: slot(45), Enqueued: slot(45), Started: slot(44)}.Entity())
	write(schema.WorkerFigures{Pipeline: "live", Slot: slot(45), Worker: "tester", First: slot(45), Last: slot(1),
		Jobs: map[string]int64{"master done": 1}}.Entity())
	for ago := 44; ago > 0; ago-- {
		write(schema.Run{Pipeline: "live", Slot: slot(ago), Skipped: "the last run is not done"}.Entity())
	}
	s := over(t, f)
	a, err := s.Pipelines.All(t.Context())
	must.Succeed(t, err)
	live := a.Pipelines[0]
	if last := live.Runs[len(live.Runs)-1]; !last.Done || live.LagSeconds == nil || len(live.Workers) != 1 {
		t.Errorf("%d runs, the oldest %+v, lag %v, workers %v", len(live.Runs), last, live.LagSeconds, live.Workers)
	}
}

func TestMapShowsWhatIsKnownDuringTheFirstPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Accounts: make([]Account, 1)})
		m, err := s.Maps.Map(t.Context(), MapQuery{})
		if err != nil || !m.At.Equal(time.Now().UTC()) {
			t.Errorf("a map of %v, %v", m.At, err)
		}
		s.Accounts.watch.ended(0, nil)
		done := time.Now()
		time.Sleep(time.Second)
		if m, err = s.Maps.Map(t.Context(), MapQuery{}); err != nil || !m.At.Equal(done.UTC()) {
			t.Errorf("after a poll, a map of %v, %v", m.At, err)
		}
	})
}
