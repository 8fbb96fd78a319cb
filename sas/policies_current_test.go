package sas

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestSharedReadBeginsAfterItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedReads
		var reads, callers atomic.Int64
		read := func(context.Context, string) (schema.Policies, time.Time, error) {
			reads.Add(1)
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			return schema.Policies{}, began, nil
		}
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Microsecond)
				came := time.Now()
				got, err := s.get(t.Context(), "readings", read)
				switch {
				case err != nil:
					t.Error(err)
				case got.now.Before(came):
					t.Errorf("a caller at %v got a read that began %v earlier", came, came.Sub(got.now))
				case time.Since(came) > 20*time.Millisecond:
					t.Errorf("it took %v", time.Since(came))
				}
				callers.Add(1)
			})
		}
		all.Wait()
		if reads.Load() > 12 || callers.Load() != 1000 {
			t.Errorf("%d reads for %d callers in a tenth of a second", reads.Load(), callers.Load())
		}
	})
}

func TestWaitingForAPolicyEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedReads
		wrong := errors.New("no storage")
		read := func(ctx context.Context, _ string) (schema.Policies, time.Time, error) {
			time.Sleep(time.Second)
			return schema.Policies{}, time.Time{}, errors.Join(wrong, ctx.Err())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.get(ctx, "readings", read); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first caller gets %v", err)
		}
		if _, err := s.get(t.Context(), "readings", read); !errors.Is(err, wrong) || errors.Is(err, context.Canceled) {
			t.Errorf("the second caller gets %v", err)
		}
	})
}

func TestPolicyIsInForceAfterTheDelay(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	since := func(age time.Duration) schema.Policy {
		return schema.Policy{ID: "p", Since: tables.TicksOf(now.Add(-age))}
	}
	for _, c := range []struct {
		delay  time.Duration
		policy schema.Policy
		want   time.Duration
	}{
		{0, since(0), 0},
		{0, schema.Policy{ID: "p"}, time.Second},
		{30 * time.Second, schema.Policy{ID: "p"}, 30 * time.Second},
		{30 * time.Second, since(0), 31 * time.Second},
		{30 * time.Second, since(20 * time.Second), 11 * time.Second},
		{30 * time.Second, since(31 * time.Second), 0},
		{30 * time.Second, since(time.Hour), 0},
	} {
		if got := (&Policies{Delay: c.delay}).until(c.policy, now); got != c.want {
			t.Errorf("delay %v, %+v: %v, want %v", c.delay, c.policy, got, c.want)
		}
	}
}

func TestCurrentCreatesMissingPolicies(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	d.readings = "another" + d.readings
	var all sync.WaitGroup
	var ids sync.Map
	for range 8 {
		all.Go(func() {
			policy, err := d.process(nil).Current(t.Context(), d.readings, victim)
			if err != nil || policy.Wait > tick {
				t.Errorf("%+v, %v", policy, err)
			}
			ids.Store(policy.ID, nil)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(id, _ any) bool {
		n++
		if !d.writes(victim, d.sign(victim, id.(string))) {
			t.Error("its token does not work")
		}
		return true
	})
	if n != 1 {
		t.Errorf("the cohort has %d policies", n)
	}
}

// TestReadingsTableHasOneSpelling: storage ignores the case of a table's name, so two records would set one list.
func TestReadingsTableHasOneSpelling(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	other, want := strings.ToUpper(d.readings), "write it as "+d.readings
	if err := d.clean.Ensure(t.Context(), other); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the policies of %s: %v", other, err)
	}
	d.clean.round(t.Context())
	for _, id := range d.devices {
		if !d.writes(id, d.tokens[id][0]) {
			t.Errorf("the token of %s has ended", id)
		}
	}

	n, _ := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	e := plant("line5")
	e.Readings = "Readings"
	if _, err := n.Add(t.Context(), e, nil, nil); err == nil || !strings.Contains(err.Error(), "write it as readings") {
		t.Errorf("an enrollment with another spelling of the table: %v", err)
	}
}
