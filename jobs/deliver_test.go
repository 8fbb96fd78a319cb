package jobs_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// hooked has a watched fleet notify a receiver, and returns the bodies that it gets.
func (f *watched) hooked() (pipeline func(policy.Transporter) *jobs.Pipeline, bodies func() []string) {
	f.t.Helper()
	var mu sync.Mutex
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(body))
	}))
	f.t.Cleanup(receiver.Close)
	secret := filepath.Join(f.t.TempDir(), "secret")
	must.Succeed(f.t, os.WriteFile(secret, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 0o600))
	pipeline = func(through policy.Transporter) *jobs.Pipeline {
		p := f.pipeline(through)
		p.Notifier = &notify.Notifier{Pipeline: "live", Client: p.Client, Names: f.Names, Targets: []notify.Target{
			{Name: "ops", Kind: &notify.Webhook{URL: receiver.URL, SecretFile: secret, Private: true}, Repeat: time.Hour}}}
		return p
	}
	return pipeline, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// deliverJobs does a master job at storage's time, and the deliver jobs that it puts. It returns their number.
func (f *watched) deliverJobs(p *jobs.Pipeline) (n int) { return f.deliverJobsAt(p, watchedSince) }

// deliverJobsAt is deliverJobs for the run of a slot.
func (f *watched) deliverJobsAt(p *jobs.Pipeline, slot time.Time) (n int) {
	f.t.Helper()
	l := &jobstest.Line{}
	jobstest.Do(f.t, p, jobs.Message{Kind: jobs.Master, Pipeline: p.Name, Run: tables.TicksOf(slot)}, l)
	for {
		m, delay, ok := l.Take()
		if !ok {
			return n
		}
		if m.Kind == jobs.Deliver && delay == 0 {
			jobstest.Do(f.t, p, m, l)
			n++
		}
	}
}

// TestIncidentsReachTheirTarget plays the whole script and delivers what it announces.
func TestIncidentsReachTheirTarget(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	pipeline, bodies := f.hooked()
	f.play(func(int) {
		must.Succeed(t, f.Drain(t.Context(), pipeline(nil)))
		f.deliverJobs(pipeline(nil))
	})
	incidents := strings.Join(bodies(), "\n")
	want := 0
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("incidents")), tables.Query{}) {
		id, kind, err := schema.IncidentRowKind(e.RowKey)
		if err != nil || kind != 't' || id.Rule != "hot" && id.Rule != "silent" ||
			strings.HasSuffix(e.PartitionKey, "!open") {
			continue
		}
		tr := must.Have(schema.TransitionOf(e))(t)
		want++
		if delivery := (schema.Delivery{Target: "ops", Transition: tr}).ID(); !strings.Contains(incidents, delivery) {
			t.Errorf("%s has not arrived", delivery)
		}
	}
	if want < 5 {
		t.Errorf("only %d transitions: nothing is shown", want)
	}
}

// TestIdleRunCostsNoOperationMoreWithTargets counts the operations of a run in which nobody is to be told anything,
// even while open incidents are to be repeated later.
func TestIdleRunCostsNoOperationMoreWithTargets(t *testing.T) {
	w := newWatchedWorld(t)
	count := func(with bool) (operations int32, waiting int) {
		f := newWatched(t, w)
		pipeline, bodies := f.hooked()
		if !with {
			pipeline = f.pipeline
		}
		f.arrive(1)
		f.clock.set(round(1).Add(time.Minute))
		must.Succeed(t, f.Drain(t.Context(), pipeline(nil)))
		f.deliverJobs(pipeline(nil))
		if with && len(bodies()) == 0 {
			t.Fatal("nothing was delivered before")
		}
		waiting = len(jobstest.Rows(t, w.Connect(t, nil).Table(f.Names.Deliveries()), tables.Query{}))
		f.clock.set(round(1).Add(time.Minute + time.Second))
		if !with { // whatever was posted is of no concern
			dropDeliveries(t, f)
		}
		counted := &faults.Gate{At: -1}
		p := pipeline(counted)
		master := jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: tables.TicksOf(watchedSince)}
		jobstest.Do(t, p, master, jobstest.NoPut{})
		must.Have(p.Run(t.Context(), f.Batch))(t)
		return counted.N.Load(), waiting
	}
	without, _ := count(false)
	with, waiting := count(true)
	if with != without {
		t.Errorf("an idle run takes %d operations with targets; want %d as without", with, without)
	}
	t.Logf("%d operations; %d deliveries wait to be repeated", with, waiting)
}

// dropDeliveries removes what the master job knows of targets.
func dropDeliveries(t *testing.T, f *watched) {
	t.Helper()
	runs := f.World.Connect(t, nil).Table(f.Names.Runs())
	for _, e := range jobstest.Rows(t, runs, tables.Query{Range: schema.TargetStates("live")}) {
		must.Have(runs.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
	}
}

// TestLongPastIncidentsAreNotDelivered folds old rows at once: what is over is recorded quietly, and what is still open
// is announced once.
func TestLongPastIncidentsAreNotDelivered(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	pipeline, bodies := f.hooked()
	for n := 1; n <= 4; n++ {
		f.arrive(n)
	}
	f.clock.set(round(4).Add(3 * time.Hour))
	for range 3 {
		must.Succeed(t, f.Drain(t.Context(), pipeline(nil)))
		f.deliverJobs(pipeline(nil))
	}
	told := strings.Join(bodies(), "\n")
	quiet, announced := 0, 0
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("incidents")), tables.Query{}) {
		_, kind, err := schema.IncidentRowKind(e.RowKey)
		if err != nil || kind != 't' && kind != 'n' || strings.HasSuffix(e.PartitionKey, "!open") {
			continue
		}
		tr := must.Have(schema.TransitionOf(e))(t)
		if tr.ID.Rule != "hot" && tr.ID.Rule != "silent" {
			continue
		}
		id := (schema.Delivery{Target: "ops", Transition: tr}).ID()
		if tr.What == schema.Announced {
			announced++
		} else if !tr.Notify {
			quiet++
		}
		want := map[bool]int{false: 0, true: 1}[tr.Notify]
		// An opening and its announcement have the same ID.
		if n := strings.Count(told, `"`+id+`","id"`); n != want && tr.What != schema.Opened {
			t.Errorf("%s (%s, notify %v) has arrived %d times", id, tr.What, tr.Notify, n)
		}
	}
	if quiet == 0 {
		t.Error("there is no transition of long ago: nothing is shown")
	}
	t.Logf("%d transitions were recorded quietly, %d incidents announced", quiet, announced)
}

// TestDeliverJobOfARemovedTargetGivesUp: nobody else would look at what waits for it.
func TestDeliverJobOfARemovedTargetGivesUp(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	f.arrive(1)
	f.clock.set(round(1).Add(time.Minute))
	must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
	given := jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Deliveries()),
		tables.Query{Range: tables.Partition(schema.GivenUp("ops"))})
	left := jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Deliveries()),
		tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo("ops")}})
	if len(given) == 0 || len(left) > 0 {
		t.Errorf("%d given up, %d left", len(given), len(left))
	}
}

// TestOlderWorkerGivesUpNothingOfANewTarget: it runs on beside one with a newer configuration, which has a target more.
func TestOlderWorkerGivesUpNothingOfANewTarget(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	pipeline, bodies := f.hooked()
	older, newer := f.pipeline(nil), pipeline(nil)
	older.Generation, newer.Generation, newer.Notifier.Generation = 1, 2, 2
	f.arrive(1)
	f.clock.set(round(1).Add(time.Minute))
	m, l := f.Message(), &jobstest.Line{}
	jobstest.Do(t, newer, m, l) // it puts a deliver job, which comes later
	f.deliverJobs(older)
	if got := len(bodies()); got > 0 {
		t.Fatalf("%d messages already: nothing is shown", got)
	}
	f.deliverJobs(newer)
	if len(bodies()) == 0 {
		given := jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Deliveries()),
			tables.Query{Range: tables.Partition(schema.GivenUp("ops"))})
		t.Errorf("nothing has arrived; %d deliveries are given up", len(given))
	}
}

// TestWokenTargetGetsItsJobAtOnce: the first device job that writes a delivery puts it, and no other.
func TestWokenTargetGetsItsJobAtOnce(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	pipeline, _ := f.hooked()
	f.arrive(1)
	f.clock.set(round(1).Add(time.Minute))
	put := 0
	l := &jobstest.Line{}
	m := f.Message()
	m.Pipeline = "live"
	must.Have(pipeline(nil).Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil }))(t)
	for {
		m, _, ok := l.Take()
		if !ok {
			break
		}
		if m.Kind == jobs.Deliver && m.Target == "ops" {
			put++
		}
	}
	if put != 1 {
		t.Errorf("%d deliver jobs, want 1", put)
	}
}

// TestRenamedPipelineDeliversWhatWaits: the workers stopped before they delivered anything, and the next configuration
// has the rules in a pipeline of another name. Nothing new happens.
func TestRenamedPipelineDeliversWhatWaits(t *testing.T) {
	f := newWatched(t, newWatchedWorld(t))
	pipeline, bodies := f.hooked()
	f.arrive(1)
	f.clock.set(round(1).Add(time.Minute))
	m := f.Message()
	m.Pipeline = "live"
	jobstest.Do(t, pipeline(nil), m, &jobstest.Line{}) // and nobody takes what it puts
	deliveries := tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo("ops")}}
	waiting := jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Deliveries()), deliveries)
	renamed := pipeline(nil)
	renamed.Name, renamed.Notifier.Pipeline = "renamed", "renamed"
	f.deliverJobs(renamed)
	told := strings.Join(bodies(), "\n")
	for _, e := range waiting {
		if id := must.Have(schema.DeliveryOf(e))(t).ID(); !strings.Contains(told, id) {
			t.Errorf("%s has not arrived", id)
		}
	}
	if len(waiting) == 0 {
		t.Error("nothing waits")
	}
}

// TestConfigurationTurnsATargetOn by another url, and ends what one is about that is removed. Nothing else happens that
// would wake it.
func TestConfigurationTurnsATargetOn(t *testing.T) {
	w := newWatchedWorld(t)
	next := watchedSince.Add(time.Minute) // slot of a run that does not look for deliveries that are left
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(gone.Close)
	for name, change := range map[string]func(*notify.Notifier){
		"another url": func(*notify.Notifier) {},
		"removed":     func(n *notify.Notifier) { n.Targets = nil },
	} {
		f := newWatched(t, w)
		pipeline, bodies := f.hooked()
		off := pipeline(nil)
		off.Notifier.Targets[0].Kind.(*notify.Webhook).URL = gone.URL
		f.arrive(1)
		f.clock.set(round(1).Add(time.Minute))
		must.Succeed(t, f.Drain(t.Context(), off))
		f.deliverJobs(off)
		about := tables.Query{Range: tables.Partition(schema.OpenIncidents(schema.Itself))}
		incidents := f.World.Connect(t, nil).Table(f.Names.Output("incidents"))
		if open := jobstest.Rows(t, incidents, about); len(open) != 1 || f.deliverJobsAt(off, next) > 0 {
			t.Fatalf("%s: before, %d incidents are about the target, or there are deliver jobs", name, len(open))
		}
		on := pipeline(nil)
		change(on.Notifier)
		f.deliverJobsAt(on, next)
		if open := jobstest.Rows(t, incidents, about); len(open) > 0 {
			t.Errorf("%s: %d incidents are about the target", name, len(open))
		}
		if got := len(bodies()); (got > 0) != (len(on.Notifier.Targets) > 0) {
			t.Errorf("%s: %d messages have arrived", name, got)
		}
		if n := f.deliverJobsAt(on, next); n > 0 {
			t.Errorf("%s: there are %d deliver jobs afterwards", name, n)
		}
	}
}
