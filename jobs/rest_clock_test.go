package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestARestOfAClockThatWasAheadEnds: storage's clock and the scheduler's are ahead for one run, in which tokens seem to
// have ended and rows come from the future. Then each new row is folded in the run after it.
func TestARestOfAClockThatWasAheadEnds(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, every := range []time.Duration{0, time.Hour} {
		for _, future := range []bool{false, true} {
			n := newNight(t, 1, every)
			n.p.Processors = n.p.Processors[:2]
			n.dated = false
			n.send(0, evening, 3*time.Hour)
			n.run(evening.Add(time.Minute))
			if future {
				n.store(0, evening.Add(24*time.Hour-time.Minute))
			}
			n.run(evening.Add(24 * time.Hour))
			at := evening.Add(10 * time.Minute)
			n.store(0, at)
			for m := range time.Duration(62) {
				n.run(at.Add((m + 1) * time.Minute))
			}
			last := tables.TicksBefore(jobsTrack(t, n).Checkpoint).Time()
			if last.Before(at) || last.After(at.Add(2*time.Minute)) {
				t.Errorf("every %v, a row of the future %t: the checkpoint is %v, and the last row %v", every, future, last, at)
			}
		}
	}
}

// jobsTrack returns the tracking row of the first device.
func jobsTrack(t *testing.T, n *night) schema.Track {
	t.Helper()
	at := n.devices[0].Place()
	e := must.Have(n.p.Client.Table(n.p.Names.Partitions("live")).Get(t.Context(), at.Month.String(), string(at.Key)))(t)
	return must.Have(schema.TrackOf(e))(t)
}

// TestALoweredWatermarkEndsARest: it lay in the future, since a clock was ahead, and hid a row of a device that rests.
func TestALoweredWatermarkEndsARest(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 0)
	n.p.Processors = n.p.Processors[:2]
	watermark := func(at time.Time, names ...string) {
		t.Helper()
		e := n.devices[0].Waking(tables.TicksOf(evening.Add(2 * time.Minute)))
		e.Set(schema.MemberWatermark, tables.Int64(int64(tables.TicksOf(at))))
		for _, name := range names {
			must.Have(n.p.Client.Table(name).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
		}
	}
	n.send(0, evening, 2*time.Minute)
	n.run(evening.Add(time.Minute))
	watermark(evening.AddDate(0, 6, 0), n.p.Names.Fleet(), n.p.Names.Partitions("live"))
	n.store(0, evening.Add(100*time.Second))
	for m := range time.Duration(6) {
		n.run(evening.Add((2 + m) * time.Minute))
	}
	watermark(evening.AddDate(0, -1, 0), n.p.Names.Fleet())
	for m := range time.Duration(4) {
		n.run(evening.Add((8 + m) * time.Minute))
	}
	last := tables.TicksBefore(jobsTrack(t, n).Checkpoint).Time()
	if want := evening.Add(100 * time.Second); !last.Equal(want) {
		t.Errorf("the checkpoint is %v, and the last row %v", last, want)
	}
}

// TestSilenceThatBeganWhileAClockWasAheadIsFound: a device is last heard in a run for which it is the next day. It is
// silent when nothing was heard for its time after the clock is right again.
func TestSilenceThatBeganWhileAClockWasAheadIsFound(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, token := range []time.Duration{10 * time.Minute, 3 * time.Hour} {
		n := newNight(t, 1, 0)
		n.send(0, evening, token)
		n.run(evening.Add(24 * time.Hour))
		for m := range time.Duration(50) {
			n.run(evening.Add((m + 1) * time.Minute))
		}
		incidents := n.p.Client.Table(n.p.Names.Output(rules.Table))
		if _, found, err := incidents.First(t.Context(), tables.Query{}); !found || err != nil {
			t.Errorf("a token of %v: no incident is open, %v", token, err)
		}
	}
}
