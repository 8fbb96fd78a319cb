package jobs_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// claimsHold returns the fleet's pipeline with default holds and marks.
func claimsHold(t *testing.T, f *jobstest.Fleet, through faults.Func) *jobs.Pipeline {
	t.Helper()
	p := f.Pipeline(t, nil)
	if through != nil {
		p = f.Pipeline(t, through)
	}
	p.Hold, p.Marks = 0, 0
	return p
}

// atFirstOutput calls before once, just before the first output is written, which is between claim and commit.
func atFirstOutput(before func() error) faults.Func {
	done := false
	return watcher(func(r *http.Request, body string) error {
		for _, output := range []string{"rollups(", "rollups HTTP", "latest HTTP"} {
			if !done && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart") && strings.Contains(body, output) {
				done = true
				return before()
			}
		}
		return nil
	})
}

// TestOverlappingJobsDoNotStarveEachOther runs a second job of the batch while the first one is between its claim and
// its commit.
func TestOverlappingJobsDoNotStarveEachOther(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	want := calm(t, w)
	f := w.NewFleet(t)
	f.FirstHalf(t)
	l := &jobstest.Line{}
	var second jobs.Result
	slow := claimsHold(t, f, atFirstOutput(func() (err error) {
		second, err = claimsHold(t, f, nil).Do(t.Context(), f.Message(), l, nil)
		return err
	}))
	first, err := slow.Do(t.Context(), f.Message(), &jobstest.Line{}, nil)
	if err != nil || first.Folded != 3 || first.Overtaken != 0 {
		t.Fatalf("the first job: %+v, %v", first, err)
	}
	if second.Folded != 0 || len(second.Claimed) != 3 {
		t.Errorf("the second job: %+v", second)
	}
	if len(l.Queue) != 1 || l.Queue[0].Claim == "" || l.Queue[0].First != w.Place(w.Devices[0]) ||
		l.Queue[0].Last != w.Place(w.Devices[2]) {
		t.Fatalf("it puts %+v", l.Queue)
	}
	if l.Delays[0] < 28*time.Second || l.Delays[0] > 33*time.Second {
		t.Errorf("its follow-up comes after %v", l.Delays[0])
	}
	if r, err := claimsHold(t, f, nil).Do(t.Context(), l.Queue[0], l, nil); err != nil || r.Devices != 3 || r.Rows != 0 ||
		len(l.Queue) != 1 {
		t.Errorf("the follow-up: %+v, %v, and puts %+v", r, err, l.Queue[1:])
	}
	jobstest.SameEnds(t, f.Ends(t), want)
}

// TestJobThatEndsWithoutACommitGivesItsClaimsBack, so that nobody waits for the end of their holds.
func TestJobThatEndsWithoutACommitGivesItsClaimsBack(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	f := w.NewFleet(t)
	ctx, stop := context.WithCancel(t.Context())
	stopped := claimsHold(t, f, atFirstOutput(func() error { stop(); return context.Canceled }))
	if _, err := stopped.Do(ctx, f.Message(), &jobstest.Line{}, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("the stopped job: %v", err)
	}
	r, err := claimsHold(t, f, nil).Do(t.Context(), f.Message(), &jobstest.Line{}, nil)
	if err != nil || r.Folded != 3 {
		t.Errorf("the next job: %+v, %v", r, err)
	}
}

// TestClaimOfTheDeadIsTakenOverAndHoldsTwiceAsLong writes the claim of a worker that died a while ago.
func TestClaimOfTheDeadIsTakenOverAndHoldsTwiceAsLong(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	table := w.Connect(t, nil).Table(f.Names.Partitions("live"))
	dead := func(ago time.Duration, takeovers int64) {
		e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(w.Place(w.Devices[0]).Key)}
		e.Set("Fence", tables.Int64(int64(tables.TicksOf(time.Now())))) // above those of the outputs
		e.Set("Claim", tables.String("of the dead"))
		e.Set("Committed", tables.String(""))
		e.Set("Takeovers", tables.Int64(takeovers))
		e.Set("ClaimUntil", tables.DateTime(tables.TicksOf(time.Now().Add(-ago))))
		must.Have(table.Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
	for takeovers, want := range map[int64]time.Duration{0: time.Minute, 1: 2 * time.Minute, 9: 10 * time.Minute} {
		dead(5*time.Second, takeovers)
		var until time.Time
		p := claimsHold(t, f, atFirstOutput(func() error {
			row := f.Track(t, w.Devices[0])
			until = row.Get("ClaimUntil").Ticks().Time()
			return nil
		}))
		if r, err := p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil); err != nil || r.Folded != 1 {
			t.Fatalf("the dead one's device: %+v, %v", r, err)
		}
		if hold := time.Until(until); hold > want || hold < want-10*time.Second {
			t.Errorf("after %d take-overs a claim holds for %v, want %v", takeovers, hold, want)
		}
		if row := f.Track(t, w.Devices[0]); row.Get("Takeovers").Int() != 0 {
			t.Errorf("a commit leaves %d take-overs", row.Get("Takeovers").Int())
		}
	}
	dead(-time.Minute, 0) // a minute of its hold is left
	l := &jobstest.Line{}
	if r, err := claimsHold(t, f, nil).Do(t.Context(), f.Message(), l, nil); err != nil || r.Folded != 0 ||
		len(l.Queue) != 1 {
		t.Errorf("while it holds: %+v, %v", r, err)
	}
}

// TestFollowUpOfAnEarlierClaimLeavesALaterOneAlone: the later job has read everything that the follow-up would.
func TestFollowUpOfAnEarlierClaimLeavesALaterOneAlone(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	follow := f.Message()
	follow.Claim = "of before"
	l := &jobstest.Line{}
	p := claimsHold(t, f, atFirstOutput(func() error {
		r, err := claimsHold(t, f, nil).Do(t.Context(), follow, l, nil)
		if r.Devices != 0 || len(l.Queue) != 0 {
			t.Errorf("it does %+v and puts %+v", r, l.Queue)
		}
		return err
	}))
	if r, err := p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil); err != nil || r.Folded != 1 {
		t.Errorf("the later job: %+v, %v", r, err)
	}
}

// TestFollowUpWhoseWorkerDiedHasAFollowUp: the later claim that its second worker finds is its own.
func TestFollowUpWhoseWorkerDiedHasAFollowUp(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	follow := f.Message()
	follow.Claim = "of before"
	died := false
	dies := atFirstOutput(func() error { died = true; return errDead })
	p := claimsHold(t, f, func(r *http.Request) (*http.Response, error) {
		if died {
			return nil, errDead // it cannot give its claim back
		}
		return dies(r)
	})
	if _, err := p.Do(t.Context(), follow, &jobstest.Line{}, nil); !errors.Is(err, errDead) {
		t.Fatalf("the first worker: %v", err)
	}
	follow.Deaths++
	l := &jobstest.Line{}
	r, err := claimsHold(t, f, nil).Do(t.Context(), follow, l, nil)
	if err != nil || r.Folded != 0 || len(l.Queue) != 1 || l.Queue[0].Claim == "" || l.Queue[0].Claim == follow.Claim {
		t.Fatalf("its second worker: %+v, %v, and puts %+v", r, err, l.Queue)
	}
}

// TestChainsCannotMultiply does every message of a chain twice.
func TestChainsCannotMultiply(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	want := calm(t, w)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	p.Portion = 10
	l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
	links := 0
	for len(l.Queue) > 0 && links < 100 {
		m, _, _ := l.Take()
		for range 2 {
			if r := jobstest.Do(t, p, m, l); r.Rows > 0 {
				links++
			}
		}
		if len(l.Queue) > 1 {
			t.Fatalf("there are %d messages: %+v", len(l.Queue), l.Queue)
		}
	}
	if links != 6 {
		t.Errorf("60 rows in portions of 10 took %d jobs", links)
	}
	jobstest.SameEnds(t, f.Ends(t), want)
}

// TestLostMessageOfAChainIsPutAgainWithItsMark when the mark has expired, once.
func TestLostMessageOfAChainIsPutAgainWithItsMark(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 60)
	f := w.NewFleet(t)
	p := claimsHold(t, f, nil)
	p.Portion, p.Marks = 20, -time.Second // it expires at once
	lost := &jobstest.Line{}
	jobstest.Do(t, p, f.Message(), lost)
	p.Marks = 0
	l := &jobstest.Line{}
	for range 3 {
		r, err := p.Do(t.Context(), f.Message(), l, nil)
		if err != nil || r.Folded != 0 {
			t.Fatalf("the next slot's batch: %+v, %v", r, err)
		}
	}
	if len(l.Queue) != 1 || l.Queue[0].Mark != lost.Queue[0].Mark || l.Queue[0].First != w.Place(w.Devices[0]) {
		t.Fatalf("it puts %+v, want %+v once", l.Queue, lost.Queue)
	}
	l.Work(t, p)
	wantRows(t, f, w.Devices[0], 60)
}

// TestLongAuditsClaimHolds: an audit that began two minutes ago claims a busy device. The claim holds from now on, not
// from the audit's beginning.
func TestLongAuditsClaimHolds(t *testing.T) {
	w := newLateWorld(t)
	w.Insert(t, "long", func(n int) bool { return n != 36 })
	f := w.NewFleetOf(t, "long")
	live := claimsHold(t, f, nil)
	must.Succeed(t, f.Drain(t.Context(), live))
	w.Insert(t, "long", func(n int) bool { return n == 36 })
	busy, _ := busily(t, f, live)
	claims := 0
	audit := claimsHold(t, f, func(r *http.Request) (*http.Response, error) {
		reads := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/long(")
		if reads {
			busy(0)
		}
		if row := f.Track(t, w.Devices[0]); strings.HasPrefix(row.Get("Claim").Text(), "audit-") &&
			row.Get("Claim").Text() != row.Get("Committed").Text() {
			claims++
			if until := row.Get("ClaimUntil").Ticks().Time(); time.Until(until) < 2*time.Minute {
				t.Errorf("the claim holds until %v", until)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil && reads {
			answer.Header.Set("Date", time.Now().Add(2*time.Minute).UTC().Format(http.TimeFormat))
		}
		return answer, err
	})
	r, err := audit.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Late != 2 || claims == 0 {
		t.Errorf("%+v, %v, %d requests under a claim", r, err, claims)
	}
}
