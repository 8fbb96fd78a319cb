package notify_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestGroupsWaitAndAreOneMessage(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.GroupBy, target.GroupWait = []string{"rule", "site"}, time.Minute
	n := f.notifier(f.client, target)
	f.happen(n, "ops", f.transition("pump-1", 1))
	if r := deliver(t, n, "ops"); r.Sent > 0 || !r.Again || r.After != time.Minute {
		t.Errorf("at once: %+v", r)
	}
	f.advance(40 * time.Second)
	other := f.transition("pump-3", 1)
	other.Site = "plant-4"
	f.happen(n, "ops", f.transition("pump-2", 1), other)
	deliver(t, n, "ops")
	f.advance(20 * time.Second)
	if r := deliver(t, n, "ops"); r.Sent != 2 || len(rec.accepted) != 1 ||
		rec.accepted[0].Data.Group["site"] != "plant-3" {
		t.Errorf("after a minute: %+v, %+v", r, rec.accepted)
	}
	f.advance(40 * time.Second)
	if r := deliver(t, n, "ops"); r.Sent != 1 {
		t.Errorf("the other site: %+v", r)
	}
}

func TestOpenIncidentsAreRepeatedUntilSomebodyAcknowledges(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Repeat = time.Hour
	n := f.notifier(f.client, target)
	first := f.transition("pump-1", 1)
	f.happen(n, "ops", first, f.transition("pump-2", 1))
	for range 3 {
		deliver(t, n, "ops")
		f.advance(time.Hour)
	}
	if ids := rec.ids(); len(ids) != 6 || !strings.HasSuffix(ids[5], "~r2") {
		t.Errorf("after two hours: %q", ids)
	}
	ack := schema.Note{ID: "x", What: schema.Acknowledged, Number: 1, At: tables.TicksOf(f.now()), Who: "me"}
	incidents := f.client.Table(f.names.Output("incidents"))
	must.Have(incidents.Do(t.Context(), tables.Insert(must.Have(ack.Entity(f.home, first.ID))(t))))(t)
	f.happen(n, "ops", f.transition("pump-2", 2))
	for range 3 {
		deliver(t, n, "ops")
		f.advance(time.Hour)
	}
	if ids := rec.ids(); len(ids) != 7 || !strings.Contains(ids[6], "pump-2~20261120T080000Z~2") {
		t.Errorf("in the end: %q", ids)
	}
	if left := f.rows("ops"); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// TestRepetitionsCostTheSame: an incident may stay open for a year. For no repetition does a job read more than for
// those before it, and an incident keeps the record of the last one.
func TestRepetitionsCostTheSame(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Repeat = time.Hour
	var requests atomic.Int64
	n := f.notifier(f.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
		requests.Add(1)
		return http.DefaultTransport.RoundTrip(r)
	})), target)
	f.happen(n, "ops", f.transition("pump-1", 1), f.transition("pump-2", 1))
	var each []int64
	for range 41 {
		requests.Store(0)
		deliver(t, n, "ops")
		each = append(each, requests.Load())
		f.advance(time.Hour)
	}
	if each[5] != each[40] || each[40] == 0 {
		t.Errorf("%d requests for the fifth repetition, %d for the fortieth", each[5], each[40])
	}
	ids := rec.ids()
	if len(ids) != 82 {
		t.Fatalf("%d notifications", len(ids))
	}
	records := f.records()
	for _, id := range []string{ids[0], ids[1], ids[80], ids[81]} {
		if records[id].Outcome != schema.Delivered {
			t.Errorf("record of %s: %+v", id, records[id])
		}
		delete(records, id)
	}
	if len(records) > 0 {
		t.Errorf("%d more records", len(records))
	}
}

// TestRepetitionsOfOlderProgramsCostNothing: these kept the record of each, and may work beside newer ones. The next
// repetition removes all that are left.
func TestRepetitionsOfOlderProgramsCostNothing(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Repeat = time.Hour
	n := f.notifier(f.client, target)
	f.happen(n, "ops", f.transition("pump-1", 1))
	const older = 150 // more than a transaction has
	for range 2 {
		deliver(t, n, "ops")
		f.advance(time.Hour)
	}
	waits := f.rows("ops")[0]
	for repeat := range older {
		r := schema.DeliveryRecord{Delivery: waits, Outcome: schema.Delivered, At: tables.TicksOf(f.now())}
		r.Repeat = repeat + 1
		e := r.Entity()
		must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.InsertOrReplace(e)))(t)
	}
	waits.Repeat = older + 1
	must.Have(f.client.Table(f.names.Deliveries()).Do(t.Context(), tables.InsertOrReplace(waits.Entity())))(t)
	deliver(t, n, "ops")
	ids, records := rec.ids(), f.records()
	last := ids[len(ids)-1]
	if len(ids) != 3 || len(records) != 2 || records[ids[0]].Outcome != schema.Delivered ||
		records[last].Outcome != schema.Delivered {
		t.Errorf("%d notifications, and %d records", len(ids), len(records))
	}
}

// TestNothingIsRepeatedOnceRepeatIsRemoved: not even what waits for its next repetition, at once or later.
func TestNothingIsRepeatedOnceRepeatIsRemoved(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Repeat = 24 * time.Hour
	n := f.notifier(f.client, target)
	ids := f.happen(n, "ops", f.transition("pump-1", 1))
	deliver(t, n, "ops")
	n.Targets[0].Repeat = 0
	ids = append(ids, f.happen(n, "ops", f.transition("pump-2", 1))...)
	for range 2 {
		deliver(t, n, "ops")
		f.advance(24 * time.Hour)
	}
	if got := rec.ids(); !slices.Equal(got, ids) || len(f.rows("ops")) > 0 {
		t.Errorf("arrived: %q; want %q; %d rows are left", got, ids, len(f.rows("ops")))
	}
	ids = append(ids, f.happen(n, "ops", f.transition("pump-1", 2))...)
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("after the closing: %q; want %q", got, ids)
	}
}

func TestClosingGoesOnlyToThoseWhoKnowTheOpening(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(),
		tables.Insert(f.transition("pump-1", 1).Entity())))(t)
	f.happen(n, "ops", f.transition("pump-1", 2))
	if r := deliver(t, n, "ops"); r.Sent > 0 || len(f.rows("ops")) > 0 {
		t.Errorf("%+v, left %+v", r, f.rows("ops"))
	}
}

// TestDeadReceiverIsGivenUpAndRedriven: pauses grow, the circuit opens, after three days it ends, and can begin again.
func TestDeadReceiverIsGivenUpAndRedriven(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.happen(n, "ops", f.transition("pump-1", 1), f.transition("pump-1", 2))
	var tried []time.Duration
	for len(f.rows("ops")) > 0 {
		if deliver(t, n, "ops").Failed > 0 {
			tried = append(tried, f.now().Sub(start))
		}
		if f.now().Sub(start) > 10*24*time.Hour {
			t.Fatalf("it has no end: tried at %v", tried)
		}
		f.advance(max(time.Second, f.state("ops").Due.Time().Sub(f.now())))
	}
	if n := len(tried); n < 70 || n > 90 || tried[1] != 10*time.Second || tried[n-1] < 3*24*time.Hour {
		t.Errorf("tried at %v", tried)
	}
	t.Logf("tried at %v", tried)
	if s := f.state("ops"); s.GivenUp != 2 || s.Failures != len(tried) || !strings.Contains(s.Error, "503") ||
		!strings.Contains(s.Error, "a receiver's words") {
		t.Errorf("state %+v", s)
	}
	for _, id := range ids {
		if r := f.records()[id]; r.Outcome != schema.GaveUp || r.Error == "" {
			t.Errorf("%s is %+v", id, r)
		}
	}
	rec.refuse = nil
	if back := must.Have(n.Redrive(t.Context(), "ops"))(t); back != 2 {
		t.Errorf("%d put back", back)
	}
	f.advance(time.Hour)
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("after the redrive: %q", got)
	}
}

// TestWhatHasWaitedForDaysIsTriedAgain: for the end of a mute, or for its repetition. One failure is not its last.
func TestWhatHasWaitedForDaysIsTriedAgain(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Repeat = 24 * time.Hour
	n := f.notifier(f.client, target)
	m := schema.Mute{ID: "m", Device: "pump-2", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(4 * 24 * time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	f.happen(n, "ops", f.transition("pump-1", 1), f.transition("pump-2", 1))
	for range 4 {
		deliver(t, n, "ops")
		f.advance(24 * time.Hour)
	}
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	deliver(t, n, "ops")
	rec.refuse = nil
	for range 2 {
		f.advance(time.Minute)
		deliver(t, n, "ops")
	}
	if s, ids := f.state("ops"), rec.ids(); s.GivenUp > 0 || len(ids) != 6 || len(f.rows("ops")) != 2 {
		t.Errorf("%d given up, arrived: %q, left %+v", s.GivenUp, ids, f.rows("ops"))
	}
}

// TestCircuitOpensAndCloses: many deliveries of a dead target cost few requests.
func TestCircuitOpensAndCloses(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 500 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	for i := range 30 {
		f.happen(n, "ops", f.transition(fmt.Sprint("pump-", i), 1))
	}
	deliver(t, n, "ops")
	if rec.tried != 5 {
		t.Errorf("%d tried before the circuit opens", rec.tried)
	}
	f.advance(20 * time.Second)
	deliver(t, n, "ops")
	f.advance(10 * time.Second)
	deliver(t, n, "ops")
	if rec.tried != 6 {
		t.Errorf("%d tried after a pause", rec.tried)
	}
	rec.refuse = nil
	f.advance(time.Minute)
	deliver(t, n, "ops")
	f.advance(time.Minute)
	deliver(t, n, "ops")
	if s := f.state("ops"); s.Sent != 30 || s.Failures != 0 || s.Error != "" || s.Waiting != 0 {
		t.Errorf("when it works again: %+v", s)
	}
}

// TestManyIncidentsOfAGroupAreFewMessages has a fleet fall silent. Nobody wants a mail for each device.
func TestManyIncidentsOfAGroupAreFewMessages(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.GroupBy, target.GroupWait = []string{"rule"}, time.Second
	n := f.notifier(f.client, target)
	const many = 2500
	for _, table := range []string{f.names.Output("incidents"), f.names.Deliveries()} {
		var ops []tables.Op
		for i := range many {
			tr := f.transition(fmt.Sprint("pump-", i), 1)
			e := tr.Entity()
			if table == f.names.Deliveries() {
				e = schema.Delivery{Target: "ops", Transition: tr}.Entity()
			}
			ops = append(ops, tables.Insert(e))
		}
		for _, group := range must.Have(tables.Cut(ops))(t) {
			must.Have(f.client.Table(table).Submit(t.Context(), group))(t)
		}
	}
	must.Have(n.Wake(t.Context(), "ops"))(t)
	f.advance(time.Minute)
	began := time.Now()
	r := deliver(t, n, "ops")
	if r.Sent != many || len(rec.accepted) != 3 {
		t.Errorf("%+v in %d messages", r, len(rec.accepted))
	}
	t.Logf("%d incidents in %d messages, %v", r.Sent, len(rec.accepted), time.Since(began))
}

var errRefused = errors.New("refused")

// TestQueueTakesSmallMessages cuts what does not fit.
func TestQueueTakesSmallMessages(t *testing.T) {
	effort.Alone(t)
	queueTakes(t, "", func(text string) (string, error) { return text, nil })
	queueTakes(t, "base64", func(text string) (string, error) {
		decoded, err := base64.StdEncoding.DecodeString(text)
		return string(decoded), err
	})
}

func queueTakes(t *testing.T, encoding string, decode func(string) (string, error)) {
	t.Helper()
	f := newFixture(t)
	var texts []string
	n := f.notifier(f.client, notify.Target{Name: "tickets", Kind: &notify.Queue{Queue: "tickets", Encoding: encoding},
		GroupBy: []string{"rule"}, GroupWait: time.Second})
	refuse := errRefused
	n.Enqueue = func(_ context.Context, queue, text string) error {
		if refuse != nil {
			return refuse
		}
		if len(text) > 64<<10 {
			t.Errorf("a message of %d bytes", len(text))
		}
		decoded, err := decode(text)
		texts = append(texts, queue+" "+decoded)
		return err
	}
	var all []schema.Transition
	for i := range 300 {
		all = append(all, f.transition(fmt.Sprint("pump-", i), 1))
	}
	ids := f.happen(n, "tickets", all...)
	f.advance(time.Minute)
	deliver(t, n, "tickets")
	refuse = nil
	for range 20 {
		f.advance(time.Minute)
		deliver(t, n, "tickets")
	}
	joined := strings.Join(texts, "\n")
	for _, id := range ids {
		if strings.Count(joined, `"`+id+`"`) != 1 {
			t.Errorf("%s is there %d times", id, strings.Count(joined, `"`+id+`"`))
		}
	}
	for _, text := range texts {
		if !strings.HasPrefix(text, "tickets {") {
			t.Errorf("a message is %.50s", text)
		}
	}
}

// TestReceiverSaysWhenToTryAgain: nothing goes to it before, for an hour at most.
func TestReceiverSaysWhenToTryAgain(t *testing.T) {
	for said, want := range map[string]time.Duration{
		"90":      90 * time.Second,
		"1000000": time.Hour,
		"0":       10 * time.Second, // the pause after any first attempt
		"-7":      10 * time.Second,
		"soon":    10 * time.Second,
		time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat): 20 * time.Minute,
	} {
		f, rec := newFixture(t), newReceiver(t)
		rec.refuse, rec.retryAfter = func(*http.Request, cloudEvent) int { return 503 }, said
		n := f.notifier(f.client, f.hook(rec.server.URL))
		f.happen(n, "ops", f.transition("pump-1", 1))
		deliver(t, n, "ops")
		f.happen(n, "ops", f.transition("pump-2", 1)) // another message to the same receiver waits, too
		const slack = 5 * time.Second                 // a date has whole seconds
		f.advance(want - slack)
		if deliver(t, n, "ops"); want > time.Minute && rec.tried != 1 {
			t.Errorf("Retry-After %s: %d attempts within %v", said, rec.tried, want-slack)
		}
		rec.refuse = nil
		f.advance(2 * slack)
		deliver(t, n, "ops")
		if ids := rec.ids(); len(ids) != 2 {
			t.Errorf("Retry-After %s: %d arrived after %v", said, len(ids), want+slack)
		}
		if s := f.state("ops"); s.Pause != 0 {
			t.Errorf("Retry-After %s: after a success, the target pauses until %s", said, s.Pause.Time())
		}
	}
}

// TestTargetWaitsForNoTimeOfAWrongClock: storage's clock was a year ahead when deliveries were found, when their target
// failed, and when a worker died at it.
func TestTargetWaitsForNoTimeOfAWrongClock(t *testing.T) {
	for name, wrong := range map[string]func(*fixture, *receiver, *notify.Notifier){
		"deliveries wait for others": func(*fixture, *receiver, *notify.Notifier) {},
		"a delivery failed": func(_ *fixture, rec *receiver, n *notify.Notifier) {
			rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
			deliver(t, n, "ops")
		},
		"the target is paused": func(f *fixture, rec *receiver, n *notify.Notifier) {
			rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
			for range 8 {
				deliver(t, n, "ops")
				f.advance(10 * time.Minute)
			}
		},
		"a worker died": func(f *fixture, _ *receiver, _ *notify.Notifier) {
			s := f.state("ops")
			s.Claim, s.Until, s.Due = "dead", tables.TicksOf(f.now().Add(time.Minute)), tables.TicksOf(f.now().Add(time.Minute))
			must.Have(f.client.Table(f.names.Runs()).Do(t.Context(), tables.Merge(s.Entity(), tables.AnyETag)))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, rec := newFixture(t), newReceiver(t)
			target := f.hook(rec.server.URL)
			target.GroupBy, target.GroupWait, target.Repeat = []string{"rule"}, time.Minute, time.Hour
			n := f.notifier(f.client, target)
			f.advance(365 * 24 * time.Hour)
			f.happen(n, "ops", f.transition("pump-1", 1))
			deliver(t, n, "ops")
			f.advance(time.Minute)
			wrong(f, rec, n)
			f.advance(-365 * 24 * time.Hour)
			rec.refuse = nil
			for range 3 {
				deliver(t, n, "ops")
				f.advance(5 * time.Minute)
			}
			if ids := rec.ids(); len(ids) != 1 {
				t.Errorf("after a quarter of an hour: %q", ids)
			}
		})
	}
}
