package jobs_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

// saveInto keeps progress as a queue does.
func saveInto(m *jobs.Message) func(context.Context, jobs.Message) error {
	return func(_ context.Context, saved jobs.Message) error {
		*m = saved
		return nil
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAuditsAreDueOncePerHourAndDay lets a week of slots pass, in which masters
// are killed anywhere, done twice, and come late.
func TestAuditsAreDueOncePerHourAndDay(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newRoster(t)
	r.add(t, rng, tables.Month{Year: 2026, Month: time.November}, 1)
	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -7)
	hours, days := map[time.Time]string{}, map[time.Time]string{}
	ask := func(slot time.Time) jobs.Depth {
		w := &workplace{at: rng.IntN(30), wrong: []wrong{refused, lost, twice, killedBefore, killedAfter}[rng.IntN(5)]}
		w.do(t, r.pipeline(t, w), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(slot)})
		if len(w.put) == 0 || w.put[0].Audit != w.put[len(w.put)-1].Audit {
			t.Fatalf("slot %v, %s at operation %d: months %+v", slot, w.wrong, w.at, w.put)
		}
		return w.put[0].Audit
	}
	for slot := first; slot.Before(first.AddDate(0, 0, 7)); slot = slot.Add(20 * time.Minute) {
		due := ask(slot)
		if again := ask(slot); again != due {
			t.Fatalf("slot %v had %q and then %q", slot, due, again)
		}
		if late := ask(slot.Add(-20 * time.Minute)); late != "" && due != "" {
			t.Fatalf("slot %v has %q after a later one had %q", slot.Add(-20*time.Minute), late, due)
		}
		if due != "" {
			hours[slot.Truncate(time.Hour)] += string(due)
		}
		if due == jobs.Full {
			days[slot.Truncate(24*time.Hour)] += string(due)
		}
	}
	if len(days) != 7 || len(hours) != 7*24 {
		t.Errorf("full audits on %d days, and any in %d hours", len(days), len(hours))
	}
	for _, due := range hours {
		if due != "short" && due != "full" {
			t.Errorf("an hour had %s", due)
		}
	}
	for _, due := range days {
		if due != "full" {
			t.Errorf("a day had %s", due)
		}
	}
}

func TestARunOfTheFutureTakesNoAudits(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	r.add(t, rand.New(rand.NewPCG(4, 0)), tables.Month{Year: 2026, Month: time.November}, 1)
	for n, slot := range []time.Time{time.Now().AddDate(5, 0, 0), time.Now()} {
		w := &workplace{at: -1}
		w.do(t, r.pipeline(t, w), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(slot)})
		if want := []jobs.Depth{"", jobs.Full}[n]; len(w.put) != 1 || w.put[0].Audit != want {
			t.Errorf("slot %v: %+v, want audit %q", slot, w.put, want)
		}
	}
}

// TestEveryBatchIsAuditedWhateverBefallsAnOperation holds that audits are put
// with the batches, spread over a sixth of the time until the next ones.
func TestEveryBatchIsAuditedWhateverBefallsAnOperation(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	month := tables.Month{Year: 2026, Month: time.November}
	r.add(t, rand.New(rand.NewPCG(5, 0)), month, 25)
	plan := func(w *workplace) {
		p := r.pipeline(t, w)
		p.Batch, w.pages, p.ShortEvery = 4, "5", 6*time.Second
		m := r.begin(t)
		m.Kind, m.Month, m.Audit = jobs.Month, month, jobs.Short
		w.do(t, p, m)
		in := r.batches(t, w.put, jobs.Audit, 4)
		for _, d := range r.due[month] {
			if n := in[month][d]; n < 1 || n > 1 && w.at < 0 {
				t.Fatalf("%s at operation %d: device %s is in %d audits", w.wrong, w.at, d, n)
			}
		}
		delays := map[time.Duration]bool{}
		for i, m := range w.put {
			if m.Kind == jobs.Audit && m.Audit != jobs.Short || w.delay[i] > time.Second || m.Kind == jobs.Device && w.delay[i] != 0 {
				t.Errorf("%+v after %v", m, w.delay[i])
			}
			delays[w.delay[i]] = true
		}
		if run := r.run(t); run.Batches == 0 || run.Audits != run.Batches || run.AuditsUntil == 0 || len(delays) < 3 {
			t.Errorf("%s at operation %d: the run's row is %+v, delays are %v", w.wrong, w.at, run, delays)
		}
	}
	calm := &workplace{at: -1}
	plan(calm)
	for _, wrong := range []wrong{refused, lost, twice, killedBefore, killedAfter} {
		for n := range calm.n {
			plan(&workplace{at: n, wrong: wrong})
		}
	}
}
