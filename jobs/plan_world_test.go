package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A roster is a fleet without readings: months of devices, and their tracking rows. Every plan of it is a run of its
// own.
type roster struct {
	account tables.Account
	names   schema.Names
	due     map[schema.Month][]schema.Place // devices that belong in a batch, in order
	figures map[schema.Month]schema.MonthFigures
	slot    tables.Ticks // of the last run
	made    time.Time
}

func newRoster(t *testing.T) *roster {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	r := &roster{account: account, due: map[schema.Month][]schema.Place{}, figures: map[schema.Month]schema.MonthFigures{},
		slot: tables.TicksOf(time.Now().Add(-24 * time.Hour)), made: time.Now()}
	for _, name := range processors.Tables(r.names, "live") {
		must.Succeed(t, r.client(t, nil).Table(name).Create(t.Context()))
	}
	return r
}

func (r *roster) client(t *testing.T, through policy.Transporter) *tables.Client {
	t.Helper()
	c := must.Have(tables.Connect(tables.Config{Account: r.account, Transport: azuretest.Transport(through),
		Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	return c
}

func (r *roster) pipeline(t *testing.T, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	return &jobs.Pipeline{Name: "live", Client: r.client(t, through), Names: r.names}
}

// add adds devices to a month: some have tracking rows, and some of those are held, behind, or failing.
func (r *roster) add(t *testing.T, rng *rand.Rand, month schema.Month, devices int) {
	t.Helper()
	now := tables.TicksOf(time.Now())
	var members, tracks []tables.Op
	f := r.figures[month]
	f.Pipeline, f.Month = "live", month
	for range devices {
		d := schema.DeviceID(fmt.Sprintf("%c:%x", "aB-_.z"[rng.IntN(6)], rng.Uint64()))
		m := schema.Member{Month: month, Device: d, Tenant: schema.Tenant("aB-"[rng.IntN(3):][:1]), Readings: "readings"}
		e := must.Have(m.Entity())(t)
		members = append(members, tables.Insert(e))
		f.Devices++
		due := true
		if rng.IntN(3) > 0 {
			track := tables.Entity{PartitionKey: month.String(), RowKey: string(m.Key())}
			due = mark(rng, &track, &f, now)
			tracks = append(tracks, tables.Insert(track))
		}
		if due {
			r.due[month] = append(r.due[month], m.Place())
		}
	}
	if devices > 0 { // rows without a device in the fleet
		for _, key := range []string{"0", "a!", "zz"} {
			e := tables.Entity{PartitionKey: month.String(), RowKey: key}
			e.Set("Rows", tables.Int64(1))
			tracks = append(tracks, tables.Insert(e))
		}
	}
	slices.SortFunc(r.due[month], schema.Place.Compare)
	r.figures[month] = f
	r.write(t, r.names.Fleet(), members)
	r.write(t, r.names.Partitions("live"), tracks)
}

// mark fills a tracking row at random, and counts that.
func mark(rng *rand.Rand, track *tables.Entity, f *schema.MonthFigures, now tables.Ticks) (due bool) {
	n := rng.Int64N(1000)
	last := now.Add(-time.Duration(n) * time.Second)
	for name, of := range map[string]*int64{"Rows": &f.Rows, "Rejects": &f.Rejects, "Late": &f.Late} {
		track.Set(name, tables.Int64(n))
		*of += n
	}
	f.Dropped += max(0, n-schema.RejectSlots)
	track.Set("LastReadRowKey", tables.String(last.String()))
	track.Set("State_latest", tables.Binary(make([]byte, 100)))
	due = true
	switch rng.IntN(10) {
	case 0:
		track.Set("HeldUntil", tables.DateTime(now.Add(time.Hour)))
		f.Held++
		due = false
	case 1:
		track.Set("ChainUntil", tables.DateTime(now.Add(5*time.Minute)))
		f.Behind++
		f.Lag = max(f.Lag, time.Duration(n)*time.Second)
		due = false
	case 2:
		track.Set("HeldUntil", tables.DateTime(now.Add(-time.Hour)))
		track.Set("ChainUntil", tables.DateTime(now.Add(-time.Hour)))
	case 3:
		track.Set("Refold", tables.String(now.Add(-time.Hour).String()+"-"+now.String()))
		f.Refolds++
	case 4:
		track.Set("Attempts", tables.Int64(2))
		f.Failing++
	case 5:
		track.Set("Refold", tables.String(""))
	}
	return due
}

func (r *roster) write(t *testing.T, table string, ops []tables.Op) {
	t.Helper()
	for group := range slices.Chunk(ops, tables.MaxOps) {
		must.Have(r.client(t, nil).Table(table).Submit(t.Context(), group))(t)
	}
}

// random adds several months and shards, with empty ones in between.
func (r *roster) random(t *testing.T, rng *rand.Rand, most int) {
	t.Helper()
	for range 1 + rng.IntN(5) {
		month := schema.Month{Year: 2024 + rng.IntN(3), Month: time.Month(1 + rng.IntN(12)), Shard: max(0, rng.IntN(6)-3)}
		if _, taken := r.figures[month]; !taken {
			r.add(t, rng, month, 1+rng.IntN(most))
		}
	}
}

// begin inserts the row of a new run, and returns its master job.
func (r *roster) begin(t *testing.T) jobs.Message {
	t.Helper()
	r.slot = r.slot.Add(time.Second)
	e := must.Have(schema.Run{Pipeline: "live", Slot: r.slot, By: "a test"}.Entity())(t)
	must.Have(r.client(t, nil).Table(r.names.Runs()).Do(t.Context(), tables.Insert(e)))(t)
	return jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: r.slot}
}

// A workplace does master and month jobs: it is a queue and workers whose nth operation, on tables or the queue, goes
// wrong.
type workplace struct {
	at    int
	wrong wrong
	n     int
	pages string // rows in a page of a query; empty as requested

	kill  context.CancelFunc
	queue []jobs.Message // not yet done
	put   []jobs.Message // all that were
	delay []time.Duration
}

// A wrong is the fate of an operation.
type wrong string

const (
	refused      wrong = "refused"       // nothing is done, and the answer is an error
	lost         wrong = "lost"          // it is done, and yet the answer is an error
	twice        wrong = "twice"         // it is done twice
	killedBefore wrong = "killed before" // the worker ends, and another one continues with the message
	killedAfter  wrong = "killed after"
)

var errWrong = errors.New("as the test wants it")

// operate is one operation of a worker.
func (w *workplace) operate(ctx context.Context, do func() error) error {
	n := w.n
	w.n++
	if err := ctx.Err(); err != nil {
		return err
	}
	if n != w.at {
		return do()
	}
	switch w.wrong {
	case refused:
		return errWrong
	case lost:
		return errors.Join(do(), errWrong)
	case killedBefore:
		w.kill()
		return context.Canceled
	case killedAfter:
		err := do()
		w.kill()
		return errors.Join(err, context.Canceled)
	case twice:
		if err := do(); err != nil {
			return err
		}
	}
	return do()
}

// Do sends a request.
func (w *workplace) Do(r *http.Request) (resp *http.Response, err error) {
	if q := r.URL.Query(); w.pages != "" && (q.Has("$filter") || q.Has("$top")) && q.Get("$top") != "1" {
		q.Set("$top", w.pages)
		r.URL.RawQuery = q.Encode()
	}
	body := r.GetBody
	failed := w.operate(r.Context(), func() error {
		if resp != nil {
			resp.Body.Close()
		}
		if body != nil {
			if r.Body, err = body(); err != nil {
				return err
			}
		}
		resp, err = http.DefaultClient.Do(r)
		return err
	})
	return resp, failed
}

func (w *workplace) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	if _, err := m.Encode(); err != nil {
		return err
	}
	return w.operate(ctx, func() error {
		w.queue, w.put, w.delay = append(w.queue, m), append(w.put, m), append(w.delay, delay)
		return nil
	})
}

// plan does a master job and the month jobs that it puts, each until it succeeds.
func (w *workplace) plan(t *testing.T, p *jobs.Pipeline, master jobs.Message) {
	t.Helper()
	w.queue = append(w.queue, master)
	for len(w.queue) > 0 {
		m := w.queue[0]
		w.queue = w.queue[1:]
		if m.Kind == jobs.Master || m.Kind == jobs.Month {
			w.do(t, p, m)
		}
	}
}

func (w *workplace) do(t *testing.T, p *jobs.Pipeline, m jobs.Message) {
	t.Helper()
	save := func(ctx context.Context, saved jobs.Message) error {
		if _, err := saved.Encode(); err != nil {
			return err
		}
		return w.operate(ctx, func() error {
			m = saved
			return nil
		})
	}
	var err error
	for range 3 {
		ctx, kill := context.WithCancel(t.Context())
		w.kill = kill
		_, err = p.Do(ctx, m, w, save)
		kill()
		if err == nil {
			return
		}
	}
	t.Fatalf("%s at operation %d: %v", w.wrong, w.at, err)
}

// batches returns how often each due device is in a batch of a kind.
func (r *roster) batches(t *testing.T, put []jobs.Message, kind jobs.Kind, most int) map[schema.Place]int {
	t.Helper()
	in := map[schema.Place]int{}
	for _, m := range put {
		if m.Kind != kind {
			continue
		}
		n := 0
		for month, due := range r.due {
			for _, d := range due {
				if d.Compare(m.First) >= 0 && d.Compare(m.Last) <= 0 {
					in[d]++
					n++
				} else if m.First.Month != m.Last.Month && (month == m.First.Month || month == m.Last.Month) {
					t.Errorf("a batch over several months has not the whole of %s: %+v", month, m)
				}
			}
		}
		if n == 0 || n > most {
			t.Errorf("%d devices in a batch that may have %d: %+v", n, most, m)
		}
	}
	return in
}

// check compares messages and the table runs with the fleet. Trouble only excuses duplicates.
func (r *roster) check(t *testing.T, w *workplace, batch int, trouble bool) {
	t.Helper()
	in := r.batches(t, w.put, jobs.Device, batch)
	for month, devices := range r.due {
		for _, d := range devices {
			if n := in[d]; n < 1 || n > 1 && !trouble {
				t.Fatalf("%s at operation %d: device %s is in %d batches", w.wrong, w.at, d, n)
			}
		}
		want := r.figures[month]
		want.Slot = r.slot
		r.checkMonth(t, w, want)
	}
	if run := r.run(t); run.Started == 0 || run.By == "" {
		t.Fatalf("%s at operation %d: the run's row is %+v", w.wrong, w.at, run)
	}
	if got, want := r.months(t).Batches, r.packed(w.put, batch); got != want {
		t.Fatalf("%s at operation %d: the months have %d batches, want %d", w.wrong, w.at, got, want)
	}
}

// packed returns the minimal number of batches for the devices of month jobs, if a month that does not fit what is left
// of a batch begins another one.
func (r *roster) packed(put []jobs.Message, batch int) (batches int64) {
	months := slices.SortedFunc(maps.Keys(r.due), schema.Month.Compare)
	seen := map[schema.Month]bool{}
	for _, m := range put {
		if m.Kind != jobs.Month || seen[m.Month] {
			continue
		}
		seen[m.Month] = true
		through, filled := m.Month, 0
		if m.Through != (schema.Month{}) {
			through = m.Through
		}
		for _, month := range months {
			n := len(r.due[month])
			switch {
			case month.Compare(m.Month) < 0 || month.Compare(through) > 0 || n == 0:
			case n >= batch:
				batches += int64((n+batch-1)/batch + min(filled, 1))
				filled = 0
			case filled+n > batch:
				batches++
				filled = n
			default:
				filled += n
			}
		}
		batches += int64(min(filled, 1))
	}
	return batches
}

func (r *roster) run(t *testing.T) schema.Run {
	t.Helper()
	e := must.Have(r.client(t, nil).Table(r.names.Runs()).Get(t.Context(), "live", r.slot.String()))(t)
	run := must.Have(schema.RunOf(e))(t)
	return run
}

// months returns the sum of what the run's month jobs have found.
func (r *roster) months(t *testing.T) (all schema.MonthFigures) {
	t.Helper()
	q := tables.Query{Range: tables.Partition(schema.FiguresPartition("live", r.slot))}
	for e, err := range r.client(t, nil).Table(r.names.Runs()).Entities(t.Context(), q) {
		if must.Succeed(t, err); schema.IsMonthFigures(e) {
			all.Add(must.Have(schema.MonthFiguresOf(e))(t))
		}
	}
	return all
}

func (r *roster) checkMonth(t *testing.T, w *workplace, want schema.MonthFigures) {
	t.Helper()
	e := must.Have(want.Entity())(t)
	e = must.Have(r.client(t, nil).Table(r.names.Runs()).Get(t.Context(), e.PartitionKey, e.RowKey))(t)
	got := must.Have(schema.MonthFiguresOf(e))(t)
	// The service's time has whole seconds, and the lag has grown since the roster was made.
	const rounding = 2 * time.Second
	most := want.Lag + time.Since(r.made) + rounding
	if got.Audits, got.Batches = 0, 0; got.Lag < want.Lag-rounding || got.Lag > most {
		t.Errorf("lag %v, want %v to %v", got.Lag, want.Lag, most)
	}
	if got.Lag, got.Again = want.Lag, 0; got != want { // a plan may be repeated
		t.Fatalf("%s at operation %d: the figures are %+v\nwant %+v", w.wrong, w.at, got, want)
	}
}
