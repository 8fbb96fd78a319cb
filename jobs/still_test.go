package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestNothingStandsStill: whatever two workers do at a time, with chains and refolds in small portions under claims
// that hold, no device waits for a mark to expire. They are killed at any operation, rows arrive at any, the service's
// clocks differ, the settings change, and tokens come to admit older rows.
func TestNothingStandsStill(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		readings := fmt.Sprintf("still%d", seed)
		rows := &arriving{world: w.World, table: readings, random: rand.New(rand.NewPCG(seed, 3)), there: map[int]bool{},
			admits: 8 * 24 * time.Hour}
		raised := random.IntN(2) == 0
		if raised {
			rows.admits = 3 * 24 * time.Hour
		}
		rows.some(t, .5)
		f := w.NewFleetOf(t, readings)
		c := newPair(t, f, seed, func() { rows.some(t, 0) })
		for _, p := range c.workers {
			p.Admits = rows.span
		}
		archiver := filing(t, f, nil)
		newArchive(t, archiver)
		archives := func(p *jobs.Pipeline) {
			p.Processors = append(p.Processors, archiver.Processors...)
			p.Settings += ",archive:1"
			for i := range p.Models {
				m := &p.Models[i]
				m.Processors, m.Settings = append(slices.Clone(m.Processors), archiver.Processors...), m.Settings+",archive:1"
			}
		}
		put := func(m jobs.Message) { must.Succeed(t, c.Put(t.Context(), m, 0)) }
		var s setting
		archived := false
		for round := range 3 + random.IntN(4) {
			if round == 0 || random.IntN(3) == 0 {
				s, archived = settings()[random.IntN(len(settings()))], random.IntN(2) == 0
			}
			for i, p := range c.workers {
				if s.apply(t, p); archived {
					archives(p)
				}
				p.Portion, p.Most = 2+random.IntN(8*(i+1)), 4+random.IntN(30)
			}
			put(f.Message())
			switch random.IntN(3) {
			case 0:
				put(f.Audit(refold.Full))
			case 1:
				to := tables.TicksOf(time.Now().Add(-time.Duration(random.IntN(7*24)) * time.Hour))
				m := f.Audit(refold.Refold)
				d := w.Devices[random.IntN(len(w.Devices))]
				m.First = w.Place(d)
				m.Last, m.Mark = m.First, fmt.Sprint("rewind", round)
				must.Have(f.Pipeline(t, nil).Rewind(t.Context(), w.Member(d, readings),
					jobs.Rewound{To: to, At: time.Now(), By: "a test", Mark: m.Mark}))(t)
				put(m)
			}
			if random.IntN(2) == 0 {
				rows.some(t, .3)
			}
			if random.IntN(2) == 0 {
				rows.raise(time.Duration(random.IntN(8*24)) * time.Hour)
			}
			c.work(t, 1+random.IntN(30))
		}
		rows.raise(8 * 24 * time.Hour)
		rows.some(t, 1)
		for range 2 { // the last two slots
			put(f.Message())
			put(f.Audit(refold.Full))
			if !c.work(t, 2000) {
				t.Fatalf("there is no end of %d messages: %+v", len(c.Queue), c.Queue[0])
			}
		}
		for _, d := range w.Devices {
			row := f.Track(t, d)
			counted := row.Get("Rows").Int() == int64(len(w.Rows[0])) || raised // not counted again
			if row.Get("Refold").Text() != "" || row.Get("ChainMark").Text() != "" || !counted {
				t.Errorf("%s stands still: cursor %q, chain %q, %d rows of %d", d, row.Get("Refold").Text(),
					row.Get("ChainMark").Text(), row.Get("Rows").Int(), len(w.Rows[0]))
			}
		}
		t.Logf("%d workers died; raised: %v", c.died.Load(), raised)
		s.sameAsNew(t, f)
		if !archived {
			return
		}
		made := f.Pipeline(t, nil)
		s.apply(t, made)
		archives(made)
		made.Groups = archiver.Groups
		for left := []string{""}; len(left) > 0; left = closedMarks(t, f) {
			must.Succeed(t, file(t.Context(), made))
		}
		jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false), "the archive")
	})
}

// A pair is two workers on one queue. Their claims hold for a second. Sometimes one dies, and its message comes again
// as after a lease of a real queue.
type pair struct {
	jobstest.Line
	workers [2]*jobs.Pipeline
	lives   [2]*life
	died    atomic.Int32
}

// A life is the fate of the storage operations of one worker.
type life struct {
	mu     sync.Mutex
	random *rand.Rand
	left   int    // operations until it dies; negative if it does not
	arrive func() // inserts a row now and then; may be nil
}

func newPair(t *testing.T, f *jobstest.Fleet, seed uint64, arrive func()) *pair {
	t.Helper()
	c := &pair{}
	for i := range c.workers {
		l := &life{random: rand.New(rand.NewPCG(seed, uint64(10+i))), left: -1, arrive: arrive}
		c.lives[i], c.workers[i] = l, claimsHold(t, f, l.Do)
		c.workers[i].Hold = time.Second
	}
	return c
}

// begin decides whether and when a worker dies in its next job.
func (l *life) begin(dies bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left = -1; dies && l.random.IntN(4) == 0 {
		l.left = 1 + l.random.IntN(30)
	}
}

func (l *life) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

// Do kills the worker before or after an operation. The service's clocks differ by at most two seconds.
func (l *life) Do(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	wasDead := l.left == 0
	dies := l.left == 1
	if l.left > 0 {
		l.left--
	}
	sent, skew, row := l.random.IntN(2) == 0, time.Duration(l.random.IntN(5)-2)*time.Second, l.random.IntN(40) == 0
	l.mu.Unlock()
	if row && l.arrive != nil {
		l.arrive()
	}
	if wasDead || dies && !sent {
		return nil, errDead
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil || dies {
		if err == nil {
			answer.Body.Close()
		}
		return nil, errDead
	}
	answer.Header.Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
	return answer, nil
}

// A putting worker puts nothing once it is dead.
type putting struct {
	*pair
	life *life
}

func (p putting) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	if p.life.dead() {
		return errDead
	}
	return p.Line.Put(ctx, m, delay)
}

// work has each of them do at most so many messages, and reports whether none is left.
func (c *pair) work(t *testing.T, most int) (idle bool) {
	t.Helper()
	var working sync.WaitGroup
	for i, p := range c.workers {
		working.Go(func() {
			for range most {
				m, delay, ok := c.Take()
				if !ok {
					return
				}
				time.Sleep(min(delay, 50*time.Millisecond))
				c.do(t, c.lives[i], p, m)
			}
		})
	}
	working.Wait()
	return len(c.Queue) == 0
}

// do does a message, and repeats it if its worker dies. It does not kill many workers of one message, which would be
// blamed.
func (c *pair) do(t *testing.T, l *life, p *jobs.Pipeline, m jobs.Message) {
	t.Helper()
	l.begin(m.Deaths < 2)
	r, err := p.Do(t.Context(), m, putting{c, l}, func(context.Context, jobs.Message) error { return nil })
	if l.dead() {
		c.died.Add(1)
		m.Deaths++
		must.Succeed(t, c.Line.Put(t.Context(), m, 0))
		return
	}
	if err != nil || len(r.Failed) > 0 {
		t.Errorf("%+v: %v, %v", m, r.Failed, err)
	}
}

// arriving are the rows of a world that arrive one after another. Tokens admit rows up to an age.
type arriving struct {
	mu     sync.Mutex
	world  *jobstest.World
	table  string
	random *rand.Rand
	there  map[int]bool
	admits time.Duration
}

// some inserts a share of the remaining rows; a share of zero is one row.
func (a *arriving) some(t *testing.T, share float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	come := map[int]bool{}
	for _, n := range a.random.Perm(len(a.world.Rows[0])) {
		age := time.Since(tables.TicksBefore(a.world.Rows[0][n].RowKey).Time())
		if a.there[n] || age > a.admits || share > 0 && a.random.Float64() >= share {
			continue
		}
		a.there[n], come[n] = true, true
		if share == 0 {
			break
		}
	}
	if len(come) > 0 {
		a.world.Insert(t, a.table, func(n int) bool { return come[n] })
	}
}

// raise has tokens admit older rows.
func (a *arriving) raise(to time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admits = max(a.admits, to)
}

func (a *arriving) span(schema.EnrollmentID) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.admits
}
