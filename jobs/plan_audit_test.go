package jobs_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// saveInto keeps progress as a queue does.
func saveInto(m *jobs.Message) jobs.Save {
	return func(_ context.Context, saved jobs.Message) error {
		*m = saved
		return nil
	}
}

// TestAuditTurnsMeet passes two days of slots, with masters that are killed anywhere, done twice, or late: one run's
// audits end where the next one's begin.
func TestAuditTurnsMeet(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newRoster(t)
	r.add(t, rng, schema.Month{Year: 2026, Month: time.November}, 1)
	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -2)
	ask := func(slot time.Time) (refold.Depth, tables.Ticks) {
		w := &workplace{at: rng.IntN(30), wrong: []wrong{refused, lost, twice, killedBefore, killedAfter}[rng.IntN(5)]}
		w.do(t, r.pipeline(t, w), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(slot)})
		if len(w.put) == 0 || w.put[0].Audit != w.put[len(w.put)-1].Audit || w.put[0].Since != w.put[len(w.put)-1].Since {
			t.Fatalf("slot %v, %s at operation %d: months %+v", slot, w.wrong, w.at, w.put)
		}
		return w.put[0].Audit, w.put[0].Since
	}
	var last tables.Ticks
	turns := 0
	for slot := first; slot.Before(first.AddDate(0, 0, 2)); slot = slot.Add(20 * time.Minute) {
		due, since := ask(slot)
		if again, then := ask(slot); again != due || then != since {
			t.Fatalf("slot %v had %q since %v and then %q since %v", slot, due, since, again, then)
		}
		if late, _ := ask(slot.Add(-20 * time.Minute)); late != "" && due != "" {
			t.Fatalf("slot %v has %q after a later one had %q", slot.Add(-20*time.Minute), late, due)
		}
		if due == "" {
			continue
		}
		// Each run puts audits of some partitions. This partition has one an hour.
		if since > tables.TicksOf(slot) || since < last {
			t.Fatalf("slot %v audits since %v, after a turn at %v", slot, since.Time(), last.Time())
		}
		last = since
		turns++
	}
	if turns < 48 {
		t.Errorf("%d turns in two days", turns)
	}
}

func TestARunOfTheFutureTakesNoAudits(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	r.add(t, rand.New(rand.NewPCG(4, 0)), schema.Month{Year: 2026, Month: time.November}, 1)
	for n, slot := range []time.Time{time.Now().AddDate(5, 0, 0), time.Now()} {
		w := &workplace{at: -1}
		w.do(t, r.pipeline(t, w), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(slot)})
		if want := []refold.Depth{"", refold.Late}[n]; len(w.put) != 1 || w.put[0].Audit != want {
			t.Errorf("slot %v: %+v, want audit %q", slot, w.put, want)
		}
	}
}

// TestEveryBatchIsAuditedWithAnyFaultAtAnyOperation holds that audits are put with the batches.
func TestEveryBatchIsAuditedWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	r := newRoster(t)
	month := schema.Month{Year: 2026, Month: time.November}
	r.add(t, rand.New(rand.NewPCG(5, 0)), month, 25)
	plan := func(w *workplace) {
		p := r.pipeline(t, w)
		p.Batch, w.pages = 4, "5"
		m := r.begin(t)
		m.Kind, m.Month, m.Audit = jobs.Month, month, refold.Late
		w.do(t, p, m)
		in := r.batches(t, w.put, jobs.Audit, 4)
		for _, d := range r.due[month] {
			if n := in[d]; n < 1 || n > 1 && w.at < 0 {
				t.Fatalf("%s at operation %d: device %s is in %d audits", w.wrong, w.at, d, n)
			}
		}
		for i, m := range w.put {
			if m.Kind == jobs.Audit && m.Audit != refold.Late || w.delay[i] != 0 {
				t.Errorf("%+v after %v", m, w.delay[i])
			}
		}
		if all := r.months(t); all.Batches == 0 || all.Audits != all.Batches {
			t.Errorf("%s at operation %d: the months have %+v", w.wrong, w.at, all)
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

// TestAuditByHandHasDevicesFarBehind: their own jobs continue with new rows, and find no late ones. Devices that are
// held are left out, because an audit leaves them alone, too.
func TestAuditByHandHasDevicesFarBehind(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	month := schema.Month{Year: 2026, Month: time.November}
	soon := tables.DateTime(tables.TicksOf(time.Now().Add(5 * time.Minute)))
	var members, tracks []tables.Op
	for device, until := range map[schema.DeviceID]string{"a": "HeldUntil", "b": "ChainUntil", "c": "ChainUntil"} {
		m := schema.Member{Month: month, Device: device, Tenant: "acme", Readings: "readings"}
		members = append(members, tables.Insert(must.Have(m.Entity())(t)))
		track := tables.Entity{PartitionKey: month.String(), RowKey: string(m.Key())}
		track.Set("LastReadRowKey", tables.String(tables.TicksOf(time.Now()).String()))
		track.Set(until, soon)
		tracks = append(tracks, tables.Insert(track))
	}
	r.write(t, r.names.Fleet(), members)
	r.write(t, r.names.Partitions("live"), tracks)
	for audit, want := range map[refold.Depth]int{refold.Full: 1, "": 0} {
		w := &workplace{at: -1}
		m := r.begin(t)
		m.Kind, m.Month, m.Audit, m.Extra = jobs.Month, month, audit, audit != ""
		w.do(t, r.pipeline(t, w), m)
		if len(w.put) != want || want > 0 && (w.put[0].Kind != jobs.Audit || w.put[0].First.Device() != "b" ||
			w.put[0].Last.Device() != "c") {
			t.Errorf("audit %q: %+v", audit, w.put)
		}
	}
}
