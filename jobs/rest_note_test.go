package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestARingIsForRowsThatAreTooYoung: a device rings for a row which is younger than the settle time when the next run
// looks, and an older row comes with it. The run after that has both.
func TestARingIsForRowsThatAreTooYoung(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, time.Hour)
	n.send(0, evening, 24*time.Hour)
	at := evening
	minute := func() int32 { at = at.Add(time.Minute); return n.run(at) }
	for range 5 {
		minute()
	}
	n.store(0, at.Add(30*time.Second))
	n.store(0, at.Add(55*time.Second))
	n.wake(0, at.Add(56*time.Second), 25*time.Hour)
	minute()
	if minute(); n.folded != 3 {
		t.Errorf("two runs after a ring %d rows are folded of 3", n.folded)
	}
	looks := minute() + minute() + minute() + minute() + minute() + minute()
	if looks += minute() + minute() + minute(); looks > 5 {
		t.Errorf("then %d looks", looks)
	}
}

// TestARowMayFollowItsTokenLater: a device that sends once an hour gets a token before its time, and measures for some
// minutes. Its row is folded as soon as that of a device that is looked at in every run.
func TestARowMayFollowItsTokenLater(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute} {
		n := newNight(t, 1, time.Hour)
		n.send(0, evening, 10*time.Minute)
		for m := range time.Duration(20) {
			n.run(evening.Add((m + 1) * time.Minute))
		}
		at := evening.Add(20*time.Minute + 30*time.Second)
		n.wake(0, at, time.Hour)
		for m := range after / time.Minute {
			n.run(evening.Add((21 + m) * time.Minute))
		}
		n.store(0, at.Add(after))
		if n.run(evening.Add(21*time.Minute + after)); n.folded != 2 {
			t.Errorf("a row that comes %v after its token: %d are folded of 2", after, n.folded)
		}
	}
}

// TestAChangeLeavesWhenTheNextRowIsExpected: a device that sends once an hour gets a token without a row, at any time
// in between, or the configuration changes. The first run after its next row folds that.
func TestAChangeLeavesWhenTheNextRowIsExpected(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, minute := range []time.Duration{2, 12, 27, 50} {
		for _, changes := range []string{"token", "configuration", "interval", "commit"} {
			n := newNight(t, 1, time.Hour)
			n.p.Processors = n.p.Processors[:2] // a rule of silence would look after 45 minutes
			n.send(0, evening, 24*time.Hour)
			for m := range time.Duration(60) {
				switch {
				case m != minute:
				case changes == "token":
					n.wake(0, evening.Add(m*time.Minute), 25*time.Hour)
				case changes == "commit": // of an audit
					for _, e := range jobstest.Rows(t, n.p.Client.Table(n.p.Names.Partitions("live")), tables.Query{}) {
						by := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
						by.Set(schema.TrackClaim, tables.String("audit"))
						by.Set(schema.TrackCommitted, tables.String("audit"))
						must.Have(n.p.Client.Table(n.p.Names.Partitions("live")).Do(t.Context(), tables.Merge(by, tables.AnyETag)))(t)
					}
				case changes == "configuration":
					n.p.Generation++
				default:
					n.p.Every = 90 * time.Minute
				}
				n.run(evening.Add((m + 1) * time.Minute))
			}
			n.store(0, evening.Add(time.Hour))
			if n.run(evening.Add(61 * time.Minute)); n.folded != 2 {
				t.Errorf("another %s after %d minutes: %d rows are folded of 2", changes, minute, n.folded)
			}
		}
	}
}

// TestAShorterIntervalCountsAtOnce, from when the next job looks.
func TestAShorterIntervalCountsAtOnce(t *testing.T) {
	t.Parallel()
	n := newNight(t, 1, 24*time.Hour)
	n.send(0, evening, 48*time.Hour)
	n.run(evening.Add(time.Minute))
	n.p.Every = 10 * time.Minute
	n.run(evening.Add(2 * time.Minute))
	n.store(0, evening.Add(3*time.Minute))
	for m := range time.Duration(11) {
		n.run(evening.Add((3 + m) * time.Minute))
	}
	if n.folded != 2 {
		t.Errorf("eleven minutes later %d rows are folded of 2", n.folded)
	}
}
