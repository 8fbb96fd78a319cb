package roles

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A followed fleet has workers that follow its stored configuration.
type followed struct {
	*jobstest.Fleet
	store generations.Store
}

func newFollowed(t *testing.T, w *jobstest.World) *followed {
	t.Helper()
	f := w.NewFleet(t)
	f.NeverRan(t)
	return &followed{f, generations.New(w.Connect(t, nil).Table(f.Names.Config()))}
}

// apply stores a configuration and loads it.
func (c *followed) apply(t *testing.T, text string) generations.Loaded {
	t.Helper()
	change := must.Have(c.store.Apply(t.Context(), "test", text, "test"))(t)
	return read(t, change.Holds)
}

func read(t *testing.T, stored schema.Configuration) generations.Loaded {
	t.Helper()
	loaded := must.Have(generations.Read(stored))(t)
	return loaded
}

// fleet returns the fleet with a configuration, as a process with that transport has it. It polls for a newer one every
// few milliseconds.
func (c *followed) fleet(t *testing.T, under generations.Loaded, through policy.Transporter) *Fleet {
	t.Helper()
	queues := must.Have(worker.Connect(worker.Config{Account: c.World.Account, Transport: through}))(t)
	client := c.World.Connect(t, through)
	log := slog.New(slog.DiscardHandler)
	follower := generations.NewFollower(generations.New(client.Table(c.Names.Config())), under, schema.Process{},
		log)
	follower.Every = 10 * time.Millisecond
	f := &Fleet{Tables: client, Queues: queues, Names: c.Names, Pipelines: under.Config.Pipelines,
		Generation: under.Generation, Stored: follower, Log: log}
	must.Succeed(t, f.Create(t.Context()))
	return f
}

type runningWorker struct {
	stop func()

	mu   sync.Mutex
	done []string // kind, pipeline and generation of jobs
}

// work runs a worker until the test ends or stop is called.
func (c *followed) work(t *testing.T, f *Fleet) *runningWorker {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := &runningWorker{}
	name := WorkerName()
	figures := &worker.Figures{Worker: name, Runs: f.Runs(), Log: f.Log}
	ended := make(chan error, 1)
	go func() {
		ended <- f.Work(ctx, Work{Name: name, Size: 4, Lease: 3 * time.Second, Figures: figures, OnResult: m.record})
	}()
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("worker: %v", err)
		}
	})
	t.Cleanup(m.stop)
	return m
}

func (m *runningWorker) record(p schema.Pipeline, r worker.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Outcome == worker.OutcomeDone {
		m.done = append(m.done, fmt.Sprintf("%s of %s, generation %d", r.Message.Kind, p, r.Message.Generation))
	}
}

// has waits until the worker has done a job with this description.
func (m *runningWorker) has(t *testing.T, what string) {
	t.Helper()
	await(t, "a worker that has done "+what, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return strings.Contains(strings.Join(m.done, "\n"), what)
	})
}

// await waits for something that must happen, however slow the machine is.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-t.Context().Done():
			t.Fatalf("there is never %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// put enqueues a job of a generation.
func (c *followed) put(t *testing.T, f *Fleet, m jobs.Message, p schema.Pipeline, generation int64) {
	t.Helper()
	m.Pipeline, m.Generation = p, generation
	must.Succeed(t, f.Queues.Queue(c.Names, p).Put(t.Context(), m, 0))
}

// idle waits until the queues of a pipeline are empty.
func (c *followed) idle(t *testing.T, f *Fleet, p schema.Pipeline) {
	t.Helper()
	queue := f.Queues.Queue(c.Names, p)
	await(t, "an end of messages", func() bool {
		live := must.Have(queue.Depth(t.Context()))(t)
		history := must.Have(queue.CatchupDepth(t.Context()))(t)
		return live+history == 0
	})
}

// deaf is a transport that cannot read the table config.
func (c *followed) deaf() policy.Transporter {
	return &faults.Transport{Plan: faults.Random{Rates: map[faults.Fault]float64{faults.ServerBusy: 1}},
		Only: func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, c.Names.Config())
		}}
}

// pipelines returns a configuration with these pipelines.
func pipelines(lines ...string) string {
	return "pipelines:\n  - " + strings.Join(lines, "\n  - ") + "\n"
}

const (
	live    = "{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup: {windows: [1h]}]}"
	smaller = "{name: live, cadence: 1s, settle: 1s, batch: 2, processors: [latest, rollup: {windows: [1h]}]}"
	another = "{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup: {windows: [1m, 1h]}]}"
	minutes = "{name: minutes, cadence: 1s, settle: 1s, processors: [rollup: {windows: [1m]}]}"
)

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c := must.Have(config.Parse("test", []byte(text)))(t)
	return c
}

// held is a transport that delays transactions until goOn is closed.
type held struct {
	begun func() // called before each
	goOn  <-chan struct{}
}

func (h *held) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "$batch") {
		h.begun()
		<-h.goOn
	}
	return http.DefaultClient.Do(r)
}
