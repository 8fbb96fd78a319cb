package worker

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fanoutFixture does the work of one fleet, from the scheduler's slot to the last checkpoint.
type fanoutFixture struct {
	fleet   *jobstest.Fleet
	batch   int
	workers int
	// through returns the transport of a worker. If it is nil, they use the network.
	through func(worker int) policy.Transporter
}

// work does a run, and returns the resulting rows of the fleet.
func (c fanoutFixture) work(t *testing.T) map[string]string {
	t.Helper()
	s := fixtureOf(t, c.fleet)
	if slot := once(t, s.scheduler()); slot.Outcome != SlotEnqueued {
		t.Fatalf("%+v", slot)
	}
	var stops []func()
	for i := range c.workers {
		var through policy.Transporter
		if c.through != nil {
			through = c.through(i)
		}
		stops = append(stops, c.hire(t, through))
	}
	drained(t, s.queue)
	for _, stop := range stops {
		stop()
	}
	if poison, err := s.queue.Poisoned(t.Context()); err != nil || len(poison) > 0 {
		t.Errorf("given up: %+v, %v", poison, err)
	}
	return c.fleet.Ends(t)
}

// hire starts a worker, and returns a function that stops it.
func (c fanoutFixture) hire(t *testing.T, through policy.Transporter) (stop func()) {
	t.Helper()
	p := c.fleet.Pipeline(t, through)
	p.Batch = c.batch
	client := must.Have(Connect(Config{Account: c.fleet.World.Account, Transport: through,
		Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	queue := client.Queue(c.fleet.Names, "live")
	return brisk(t, &Pool{Source: queue, Size: 4, Lease: 2 * time.Second, MaxAttempts: 50, Grace: time.Second,
		Work: func(ctx context.Context, m jobs.Message, save save) error {
			_, err := p.Do(ctx, m, queue, save)
			return err
		}})
}

func TestFanOutComesToEqualEnds(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldIn(t, azuretest.FromEnv(t), 2*time.Hour, 12, 40)
	want := fanoutFixture{fleet: w.NewFleet(t), batch: 50, workers: 1}.work(t)
	for _, d := range w.Devices {
		if track := want["partitionslive/2026-11/"+string(w.Place(d).Key)]; !strings.Contains(track, " Rows=40") {
			t.Fatalf("%s has come to %s", d, track)
		}
	}
	for _, c := range []fanoutFixture{{batch: 1, workers: 1}, {batch: 1, workers: 8}, {batch: 5, workers: 8},
		{batch: 99, workers: 8}} {
		c.fleet = w.NewFleet(t)
		if d := jobstest.Differ(c.work(t), want); d != "" {
			t.Errorf("N = %d, %d workers: %s", c.batch, c.workers, d)
		}
	}
}

func TestFanOutComesToEqualEndsOnBadDays(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := jobstest.NewWorld(t, 12, 40)
	want := fanoutFixture{fleet: w.NewFleet(t), batch: 50, workers: 1}.work(t)
	// No 503, because it slows a pool down for half a minute.
	rates := map[faults.Fault]float64{faults.AnswerLost: .03, faults.Twice: .03, faults.Cut: .03, faults.EmptyPage: .1}
	for round := range uint64(len(effort.Of(3, 1))) {
		c := fanoutFixture{fleet: w.NewFleet(t), batch: 3, workers: 3, through: func(worker int) policy.Transporter {
			return &faults.Transport{Plan: faults.Random{Seed: seed + 10*round + uint64(worker), Rates: rates}}
		}}
		if d := jobstest.Differ(settledEnds(c, t), jobstest.WithoutHistory(want)); d != "" {
			t.Errorf("seed %d, round %d: %s", seed, round, d)
		}
	}
}

// settledEnds returns the ends after another slot has repaired what faults left behind.
func settledEnds(c fanoutFixture, t *testing.T) map[string]string {
	t.Helper()
	c.work(t)
	p := c.fleet.Pipeline(t, nil)
	for _, d := range c.fleet.World.Devices { // bad luck, three times in a row, has a device held
		must.Have(p.Release(t.Context(), c.fleet.World.Place(d)))(t)
	}
	must.Succeed(t, c.fleet.Drain(t.Context(), p))
	return jobstest.WithoutHistory(c.fleet.Ends(t))
}

// A mortal transport dies after some requests: no more get through.
type mortal struct {
	left atomic.Int64
	dead chan struct{}
	once sync.Once
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	if m.left.Add(-1) < 0 {
		m.once.Do(func() { close(m.dead) })
		return nil, errors.New("this worker is dead")
	}
	return http.DefaultClient.Do(r)
}

// TestWorkersThatDieLoseNothing kills one worker after another in the middle of its work. Only the last one survives.
func TestWorkersThatDieLoseNothing(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 12, 40)
	want := fanoutFixture{fleet: w.NewFleet(t), batch: 50, workers: 1}.work(t)
	f := w.NewFleet(t)
	deaths := 0
	c := fanoutFixture{fleet: f, batch: 3, workers: 4, through: func(i int) policy.Transporter {
		if i == 3 {
			time.Sleep(time.Second) // the others have begun, and died
			return http.DefaultClient
		}
		m := &mortal{dead: make(chan struct{})}
		m.left.Store(int64(10 + 17*i))
		deaths++
		return m
	}}
	if d := jobstest.Differ(c.work(t), want); d != "" || deaths != 3 {
		t.Errorf("%d deaths: %s", deaths, d)
	}
}
