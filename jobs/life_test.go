package jobs_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Weeks are five weeks in the life of a fleet, in seconds: they end now. Storage, the scheduler and workers have the
// time of that life, unless one of these clocks is wrong.
type weeks struct {
	keptFleet
	now     time.Time
	storage time.Duration   // how far storage's clock is ahead
	future  bool            // it has been ahead
	slot    time.Duration   // how far that of the scheduler is
	worker  time.Duration   // how far those of workers are
	admits  time.Duration   // age of the oldest row that tokens admit, or have ever admitted
	coming  []coming        // rows that devices have yet to send
	hidden  []tables.Entity // rows that devices keep until somebody finds them
	audited map[schema.Pipeline]tables.Ticks
	planned map[schema.Pipeline]tables.Ticks // slot of the last run
	cut     tables.Ticks                     // below it, rows were old enough for retention
	stated  time.Duration                    // how often devices send, as settings say; 0: they do not
	looks   *rand.Rand                       // when furrow verify looks, which changes nothing in the life of a seed
	beside  *beside                          // the one that looks right now; nil: none does
	steps   []string
}

// A coming row is sent at a time, which may be long after that of its key.
type coming struct {
	at  time.Time
	row tables.Entity
}

const (
	lifeDays = 35
	lifeRows = 90 // of a device
)

// newWeeks returns a fleet at its beginning. Devices send most rows at once, some hours or days later, and those of an
// outage when that is over.
func newWeeks(t *testing.T, seed uint64) *weeks {
	t.Helper()
	w := jobstest.NewWorldSince(t, lifeDays*days, 4, lifeRows)
	readings := w.Readings + "life"
	l := &weeks{now: time.Now().Add(-lifeDays * days), admits: 4 * days, audited: map[schema.Pipeline]tables.Ticks{},
		planned: map[schema.Pipeline]tables.Ticks{},
		looks:   rand.New(rand.NewPCG(seed, 1))}
	l.keptFleet = keptFleet{Fleet: w.NewFleetOf(t, readings), t: t, random: rand.New(rand.NewPCG(seed, 0)),
		all: readings + "all", settings: map[schema.Pipeline]int{}}
	l.others = l.by(nil)
	l.state()
	l.finish = func(ctx context.Context, p *jobs.Pipeline) (err error) { // by what runs plan alone
		for range 3 {
			err = l.run(ctx, p, refold.Full)
		}
		return err
	}
	l.change = func(p *jobs.Pipeline) {
		p.Admits = func(schema.EnrollmentID) time.Duration { return l.admits }
		p.Clock = func() time.Time { return l.now.Add(l.worker) }
		p.Format, p.Generation = schema.Format, 1
		p.SendEvery = func(schema.EnrollmentID) time.Duration { return l.stated }
		n := l.settings[p.Name]
		p.Settings = fmt.Sprintf("latest:%d,rollup:%d,archive:%d", n, n, n)
		if n%2 == 1 && p.Name != "archive" {
			p.Sensors.Named = map[string]fold.Meaning{"humidity": {Is: fold.Ignored}, "temperature": {Is: fold.Ignored}}
		}
	}
	w.Create(t, readings, l.all, l.Names.Partitions("second"), l.Names.Partitions("fresh"),
		l.Names.Partitions("archive"), l.Names.Partitions("retention"))
	for _, rows := range w.Rows {
		outage := l.now.Add(time.Duration(l.random.Int64N(int64(30 * days))))
		over := outage.Add(l.admits/2 + time.Duration(l.random.Int64N(int64(l.admits/2))))
		late := time.Duration(l.random.Int64N(int64(l.admits))) // how long the device keeps what it has of the outage
		for _, e := range rows {
			row := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
			row.Set("temperature", e.Get("temperature"))
			row.Set("humidity", e.Get("humidity"))
			at := tables.TicksBefore(e.RowKey).Time()
			if l.random.IntN(10) == 0 {
				l.hidden = append(l.hidden, row)
				continue
			}
			switch {
			case at.After(outage) && at.Before(over):
				if at = at.Add(l.admits - 5*time.Hour); at.Before(over.Add(late)) {
					at = over.Add(late)
				}
			case l.random.IntN(8) == 0:
				at = at.Add(time.Duration(l.random.Int64N(int64(l.admits))))
			}
			l.coming = append(l.coming, coming{at, row})
		}
	}
	slices.SortStableFunc(l.coming, func(a, b coming) int { return a.at.Compare(b.at) })
	l.NeverRan(t)
	withRecords(t, l.Fleet)
	newArchive(t, l.archive(nil))
	return l
}

// by returns a transport through which storage says the time of the fleet's life. A furrow verify may look between two
// requests.
func (l *weeks) by(inner policy.Transporter) policy.Transporter {
	clocked := l.clocked(inner)
	return faults.Func(func(r *http.Request) (*http.Response, error) {
		l.beside.step()
		return clocked.Do(r)
	})
}

// clocked returns a transport through which storage says the time of the fleet's life.
func (l *weeks) clocked(inner policy.Transporter) policy.Transporter {
	return faults.Func(func(r *http.Request) (*http.Response, error) {
		shift := time.Until(l.now) + l.storage
		var answer *http.Response
		var err error
		if inner != nil {
			answer, err = inner.Do(r)
		} else {
			answer, err = http.DefaultClient.Do(r)
		}
		if err != nil {
			return nil, err
		}
		at, err := http.ParseTime(answer.Header.Get("Date"))
		answer.Header.Set("Date", at.Add(shift).Format(http.TimeFormat))
		return answer, err
	})
}

// pass has time pass: devices send, and runs begin every hour.
func (l *weeks) pass(by time.Duration) {
	began := l.now
	l.now = l.now.Add(by)
	if now := time.Now(); l.now.After(now) {
		l.now = now
	}
	for len(l.coming) > 0 && !l.coming[0].at.After(l.now) {
		c := l.coming[0]
		l.coming = l.coming[1:]
		l.send(c.at, c.row)
	}
	var runs []tables.Entity
	for at := began.Truncate(time.Hour).Add(time.Hour); !at.After(l.now); at = at.Add(time.Hour) {
		for _, p := range []schema.Pipeline{"live", "second", "fresh", "archive"} {
			slot := tables.TicksOf(at)
			run := schema.Run{Pipeline: p, Slot: slot, Enqueued: slot, Started: slot}
			runs = append(runs, must.Have(run.Entity())(l.t))
		}
	}
	for _, p := range []string{"live", "second", "fresh", "archive"} {
		own := slices.DeleteFunc(slices.Clone(runs), func(e tables.Entity) bool { return e.PartitionKey != p })
		jobstest.Insert(l.t, l.World.Connect(l.t, nil).Table(l.Names.Runs()), own...)
	}
}

// send sends a row at a time. What no token admits is to be imported.
func (l *weeks) send(at time.Time, row tables.Entity) {
	from := tables.TicksOf(at.Add(-l.admits))
	for _, m := range membersOf(l.t, l.Fleet) {
		if string(m.Device) == row.PartitionKey {
			from = max(from, m.Watermark)
		}
	}
	if row.RowKey < from.String() {
		l.past = append(l.past, row)
	} else {
		l.wake(schema.DeviceID(row.PartitionKey), at)
		l.arrive(row)
	}
}

// wake has a device get a token before it sends, unless it has one. Storage admits no token that has ended by its own
// clock. A device of an earlier release's endpoint has no note at all.
func (l *weeks) wake(device schema.DeviceID, at time.Time) {
	now := tables.TicksOf(at.Add(l.storage))
	for _, m := range membersOf(l.t, l.Fleet) {
		if m.Device != device || m.Spans.End() != 0 || m.Awake >= now || m.Awake == 0 && l.random.IntN(3) == 0 {
			continue
		}
		until := now.Add(time.Duration(l.random.Int64N(int64(3 * time.Hour))))
		must.Have(l.World.Connect(l.t, nil).Table(l.Names.Fleet()).Do(l.t.Context(), tables.Merge(m.Waking(until),
			tables.AnyETag)))(l.t)
	}
}

// find has devices send what they have kept of some days.
func (l *weeks) find() {
	from := tables.TicksOf(l.now.Add(-l.admits + time.Duration(l.random.Int64N(int64(l.admits)))))
	to := min(from.Add(2*days), tables.TicksOf(l.now))
	l.hidden = slices.DeleteFunc(l.hidden, func(row tables.Entity) bool {
		found := row.RowKey > from.String() && row.RowKey < to.String()
		if found {
			l.send(l.now, row)
		}
		return found
	})
}

// run does a run of a pipeline, with audits. Those of a run that failed are done by the next one.
func (l *weeks) run(ctx context.Context, p *jobs.Pipeline, depth refold.Depth) (last error) {
	slot := tables.TicksOf(l.now.Add(l.slot))
	m := jobs.Message{Kind: jobs.Month, Pipeline: p.Name, Run: slot, Month: jobstest.Month, Audit: depth}
	if depth == refold.Late {
		m.Since = l.audited[p.Name]
	}
	if before := l.planned[p.Name]; before < slot && l.looks.IntN(4) > 0 {
		m.Before = before
	}
	l.planned[p.Name] = slot
	line := &jobstest.Line{Queue: []jobs.Message{m}, Delays: []time.Duration{0}}
	for n := 0; ctx.Err() == nil; n++ {
		m, _, more := line.Take()
		if !more {
			break
		}
		if n > 2000 {
			l.t.Fatalf("a run of %s has no end: %+v", p.Name, m)
		}
		r, err := p.Do(ctx, m, line, func(context.Context, jobs.Message) error { return nil })
		for d, why := range r.Failed {
			_, _ = p.Release(ctx, d)
			err = cmp.Or(err, why)
		}
		last = cmp.Or(last, err)
	}
	if last = cmp.Or(last, ctx.Err()); last == nil && depth == refold.Late && l.slot == 0 {
		l.audited[p.Name] = slot
	}
	return last
}

// retain does a job of retention.
func (l *weeks) retain(ctx context.Context, through policy.Transporter) {
	m := l.Message()
	m.Pipeline, m.Run = "retention", tables.TicksOf(l.now.Add(l.slot))
	keeps := time.Duration(l.random.IntN(10)) * days
	l.cut = max(l.cut, tables.TicksOf(l.now.Add(-max(keeps, l.admits+refold.TokenGrace))))
	p := l.retention(l.by(through), func() time.Duration { return keeps })
	p.Admits = func(schema.EnrollmentID) time.Duration { return l.admits }
	p.Clock = func() time.Time { return l.now.Add(l.worker) }
	_, _ = p.Do(ctx, m, jobstest.NoPut{}, nil)
}

// tell says of a life that has failed what happened in it, and what is known of each device.
func (l *weeks) tell() {
	if !l.t.Failed() {
		return
	}
	l.t.Log("tokens admit rows of", l.admits, l.steps)
	l.t.Log("days begin at midnight, so this seed has this life at about", l.now.Format("15:04"), "alone: .ci/hours")
	for _, m := range membersOf(l.t, l.Fleet) {
		l.t.Log(m.Place(), "spans", m.Spans, "watermark", m.Watermark.Time(), "imports", m.Imports)
		for _, p := range l.pipelines(nil) {
			table := l.World.Connect(l.t, nil).Table(l.Names.Partitions(p.Name))
			e, err := table.Get(context.Background(), m.Month.String(), string(m.Key()))
			if err != nil {
				continue
			}
			rest, stands := schema.RestOf(&e)
			l.t.Logf("  %s rests: %v %v %v, awake until %v", p.Name, stands, rest.Until.Time(), rest, m.Awake.Time())
			row, err := tracking.RowOf(e)
			l.t.Logf("  %s: checkpoint %v, spans %v, uncut %v, settings %s, %+v, %v", p.Name,
				tables.TicksBefore(row.Last).Time(), row.Spans, row.Uncut.Time(), row.Settings, row.Coverage, err)
		}
	}
}

// TestLives: five weeks of a fleet in which everything happens at once. In the end all outputs are those of a new fleet
// that folds what storage ever accepted, nothing that retention has deleted is missing, and what may go is gone.
func TestLives(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	first := cmp.Or(*seedFrom, uint64(time.Now().UnixNano()))
	n := cmp.Or(*lives, len(effort.Of(60, 8)))
	t.Logf("seeds %d and the %d after it", first, n-1)
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			if seed != first {
				effort.WhileTimeIsLeft(t, 5*time.Minute)
			}
			l := newWeeks(t, seed)
			defer l.tell()
			l.live()
			client := l.World.Connect(t, nil)
			left, all := jobstest.Rows(t, client.Table(l.Readings), tables.Query{}), jobstest.Rows(t, client.Table(l.all),
				tables.Query{})
			rested := int64(0)
			for _, e := range jobstest.Rows(t, client.Table(l.Names.Runs()), tables.Query{}) {
				if strings.HasPrefix(e.RowKey, "month!") {
					rested += e.Get("Resting").Int()
				}
			}
			t.Logf("devices rested %d times", rested)
			t.Logf("retention has left %d of %d rows", len(left), len(all))
			below := time.Now().Add(-max(9*days, l.admits+refold.TokenGrace))
			l.end(schema.DayOf(tables.TicksOf(below)).Start().String(), l.cut.String())
			l.verify("in the end")
			countVersions(t, l.archive(nil), objects(t, l.World.Account, l.Names.Archive()))
		})
	}
}

var lives = flag.Int("jobs.lives", 0, "how many lives TestLives tries (default: 8, or 60 with FURROW_TEST_LONG)")

// goOn lets some hours pass, and what happens in them.
func (l *weeks) goOn() {
	l.pass(time.Duration(1+l.random.IntN(30)) * time.Hour)
	for _, p := range l.pipelines(l.by(nil)) {
		if l.random.IntN(4) > 0 {
			_ = l.run(l.t.Context(), p, refold.Late)
		}
	}
	if l.random.IntN(2) == 0 {
		l.retain(l.t.Context(), nil)
	}
	for range 1 + l.random.IntN(3) {
		l.happen()
	}
}

// live lets the weeks pass.
func (l *weeks) live() {
	for time.Until(l.now) < -time.Minute {
		if l.looks.IntN(8) == 0 {
			l.verifyBeside(l.goOn)
		} else {
			l.goOn()
		}
		if l.looks.IntN(12) == 0 { // which takes as long as a day or two of the life
			l.verify(fmt.Sprint("at ", l.now))
		}
		if l.random.IntN(2) == 0 {
			l.storage, l.slot, l.worker = 0, 0, 0
		}
	}
	l.storage, l.slot, l.worker = 0, 0, 0
	for _, row := range l.hidden {
		l.send(l.now, row)
	}
	for len(l.past) > 0 {
		before := len(l.past)
		if l.importPast(); len(l.past) == before {
			l.past = l.past[1:] // retention has passed it
		}
	}
}
