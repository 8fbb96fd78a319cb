package model

import (
	"context"
	"slices"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestPagesFollowTheConfiguration: what is newer is asked for every 10 s, and shown
// from then on.
func TestPagesFollowTheConfiguration(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	s := over(t, f)
	asked, newer := 0, false
	s.c.Newer = func(context.Context) ([]Pipeline, bool, error) {
		asked++
		return []Pipeline{{Name: "quarters", Windows: []schema.Window{schema.Window(15 * time.Minute)}}}, newer, nil
	}
	names := func() (all []string) {
		a, _, err := s.Pipelines(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
	s.poller.configured = time.Now().Add(-newerInterval)
	look(t, s)
	if got := names(); asked != 2 || !slices.Equal(got, []string{"quarters"}) || len(s.windows()) != 1 {
		t.Errorf("asked %d times, and shows %v with windows %v", asked, got, s.windows())
	}
}
