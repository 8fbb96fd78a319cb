package jobs_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestEveryDeviceIsInOneBatchOfARun(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range schedules() {
		r := newRoster(t)
		r.random(t, rng, 300)
		for i, batch := range []int{1, 7, 50, 99} {
			for _, pages := range []string{"1", fmt.Sprint(2 + rng.IntN(20)), fmt.Sprint(100 + rng.IntN(100)), "1000"} {
				if pages == "1" && i != 1 {
					continue // takes a while
				}
				w := &workplace{at: -1, pages: pages}
				p := r.pipeline(t, w)
				p.Batch = batch
				w.plan(t, p, r.begin(t))
				r.check(t, w, batch, false)
			}
		}
	}
}

// TestNoDeviceIsLeftOutWithAnyFaultAtAnyOperation of a master job and its month jobs: requests to the tables, messages
// put, progress saved.
func TestNoDeviceIsLeftOutWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newRoster(t)
	for n := range 2 {
		r.add(t, rng, schema.Month{Year: 2026, Month: time.November, Shard: n}, 10+rng.IntN(10))
	}
	plan := func(w *workplace) {
		w.pages = "9"
		p := r.pipeline(t, w)
		p.Batch = 4
		w.plan(t, p, r.begin(t))
		r.check(t, w, 4, w.at >= 0)
	}
	plan(&workplace{at: -1}) // the first run of a day has audits, too
	calm := &workplace{at: -1}
	plan(calm)
	for _, wrong := range []wrong{refused, lost, twice, killedBefore, killedAfter} {
		for _, n := range effort.Of(calm.n, tried) {
			plan(&workplace{at: n, wrong: wrong})
		}
	}
	t.Logf("%d operations", calm.n)
}

// TestNoDeviceIsLeftOutByStorageThatMisbehaves has random faults at any number of operations.
func TestNoDeviceIsLeftOutByStorageThatMisbehaves(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	r := newRoster(t)
	r.random(t, rng, 60)
	for i := range schedules() {
		w := &workplace{at: -1}
		through := &faults.Transport{Plan: faults.Random{Seed: seed + uint64(i), Rates: map[faults.Fault]float64{
			faults.AnswerLost: .02, faults.Twice: .05, faults.Cut: .02, faults.ServerBusy: .02,
			faults.TimedOut: .02, faults.TimedOutDone: .02, faults.EmptyPage: .3}}}
		p := r.pipeline(t, through)
		p.Batch = 1 + rng.IntN(20)
		w.queue = []jobs.Message{r.begin(t)}
		for tries := 0; len(w.queue) > 0; {
			m := w.queue[0]
			w.queue = w.queue[1:]
			if m.Kind == jobs.Device || m.Kind == jobs.Audit {
				continue
			}
			if _, err := p.Do(t.Context(), m, w, saveInto(&m)); err != nil {
				w.queue = append(w.queue, m)
				if tries++; tries > 100 {
					t.Fatalf("seed %d: there is no end: %v", seed+uint64(i), err)
				}
			}
		}
		r.check(t, w, p.Batch, true)
	}
}

func TestEmptyMonthsCostNothing(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	count := func() (queries int) {
		w := &workplace{at: -1}
		through := &faults.Transport{Plan: faults.Script{}, Only: func(req *http.Request) bool {
			if strings.Contains(req.URL.Path, r.names.Fleet()) {
				queries++
			}
			return true
		}}
		must.Have(r.pipeline(t, through).Do(t.Context(), r.begin(t), w, saveInto(&jobs.Message{})))(t)
		if n := min(1, len(r.figures)); len(w.put) != n {
			t.Errorf("%d month jobs for %d months, want %d", len(w.put), len(r.figures), n)
		}
		return queries
	}
	if n := count(); n != 1 {
		t.Errorf("an empty fleet takes %d queries", n)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	r.add(t, rng, schema.Month{Year: 2021, Month: time.November}, 1)
	r.add(t, rng, schema.Month{Year: 2026, Month: time.November}, 1)
	if n := count(); n != 2 {
		t.Errorf("two months with 59 empty ones between take %d queries, want 2", n)
	}
}

// TestDevicesInsertedMeanwhileDisturbNoOther inserts a device after every page.
func TestDevicesInsertedMeanwhileDisturbNoOther(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	rng := rand.New(rand.NewPCG(2, 0))
	month := schema.Month{Year: 2026, Month: time.November}
	r.add(t, rng, month, 60)
	w := &workplace{at: -1, pages: "5"}
	inserted := 0
	through := &faults.Transport{Plan: faults.Script{}, Next: faults.Func(w.Do), Only: func(req *http.Request) bool {
		if strings.Contains(req.URL.Path, r.names.Fleet()) && inserted < 30 {
			inserted++
			e, err := schema.Member{Month: month, Device: schema.DeviceID(fmt.Sprintf("%c%d", "aB-_.z"[rng.IntN(6)], inserted)),
				Tenant: schema.Tenant("aB-"[rng.IntN(3):][:1]), Readings: "readings"}.Entity()
			must.Succeed(t, err)
			r.write(t, r.names.Fleet(), []tables.Op{tables.Insert(e)})
		}
		return true
	}}
	p := r.pipeline(t, through)
	p.Batch = 7
	w.plan(t, p, r.begin(t))
	in := r.batches(t, w.put, jobs.Device, 7)
	for _, d := range r.due[month] {
		if in[d] != 1 {
			t.Errorf("device %s is in %d batches", d, in[d])
		}
	}
	if inserted < 10 {
		t.Errorf("%d devices were inserted", inserted)
	}
}

func TestForeignRowsAreReportedAndHoldNothingUp(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	rng := rand.New(rand.NewPCG(3, 0))
	month := schema.Month{Year: 2026, Month: time.November}
	r.add(t, rng, month, 20)
	r.write(t, r.names.Fleet(), []tables.Op{tables.Insert(tables.Entity{PartitionKey: "2026-10 ", RowKey: "x"})})
	r.write(t, r.names.Fleet(), []tables.Op{tables.Insert(tables.Entity{PartitionKey: month.String(),
		RowKey: "no device"})})
	bad := tables.Entity{PartitionKey: month.String(), RowKey: string(r.due[month][3].Key)}
	bad.Set("Chain", tables.String("soon"))
	r.write(t, r.names.Partitions("live"), []tables.Op{tables.InsertOrReplace(bad)})
	w := &workplace{at: -1}
	p := r.pipeline(t, w)
	res, err := p.Do(t.Context(), r.begin(t), w, saveInto(&jobs.Message{}))
	if err != nil || res.Months != 1 || !strings.Contains(fmt.Sprint(res.Strange["2026-10 "]), "move or delete") {
		t.Fatalf("%+v, %v", res, err)
	}
	res, err = p.Do(t.Context(), w.queue[0], w, saveInto(&jobs.Message{}))
	if err != nil || res.Batches != 1 || !strings.Contains(fmt.Sprint(res.Strange["2026-11/no device"]), "delete it") {
		t.Fatalf("%+v, %v", res, err)
	}
	for d, n := range r.batches(t, w.put, jobs.Device, 50) {
		if n != 1 {
			t.Errorf("%s is in %d batches", d, n)
		}
	}
}
