package keda

import (
	"flag"
	"strconv"
	"testing"
	"time"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
)

var devices = flag.Int("devices", 12_000, "devices with a reading to fold, and so jobs in the queue; a scheduler answers "+
	"/v1/scale from what it has read seconds ago, and the queue has to be long for longer")

// One message carries one device, so that the backlog has as many messages as devices.
const configuration = `pipelines:
  - {name: live, cadence: 1h, batch: 1, processors: [latest, rollup: {windows: [1d]}]}
`

const (
	// pace is how many times as fast as in a cluster the autoscaler looks and forgets.
	pace = 20
	// stabilization is Kubernetes' default. kubernetes.io: "Horizontal Pod Autoscaling", Stabilization window.
	stabilization = 300 * time.Second
	mostWorkers   = 8
	// jobs is how many a worker does at a time: few, so that one machine does not drain the queue before it is long.
	jobs = 4
)

// TestBacklogTakesWorkersFromNoneToEightAndBack scales real workers by the length of the queues, with KEDA's scaler for
// Azure's queues. It forgets at once how many were wanted, so that workers are stopped amid their jobs.
func TestBacklogTakesWorkersFromNoneToEightAndBack(t *testing.T) {
	f := newFleet(t, configuration)
	o := deployed(t, f)
	for _, tr := range o.Spec.Triggers {
		length, err := strconv.Atoi(tr.Metadata["queueLength"])
		if err != nil {
			t.Fatal(err)
		}
		tr.Metadata["queueLength"] = strconv.Itoa(length * jobs / 32) // of workers with their default of 32 jobs
	}
	drain(t, f, o, 0)
}

// TestScaleTakesWorkersFromNoneToEightAndBack scales them by /v1/scale, with KEDA's scaler for any API.
func TestScaleTakesWorkersFromNoneToEightAndBack(t *testing.T) {
	f := newFleet(t, configuration)
	o := deployed(t, f)
	o.Spec.Triggers = []keda.ScaleTriggers{{Type: "metrics-api",
		Metadata: map[string]string{"valueLocation": "workers", "targetValue": "1"}}}
	drain(t, f, o, stabilization/pace)
}

// drain has a scheduler fill the queues and an autoscaler drain them.
func drain(t *testing.T, f *fleet, o keda.ScaledObject, stabilization time.Duration) {
	t.Helper()
	began := time.Now()
	f.fill(t, *devices)
	t.Logf("%6.1fs %d devices", time.Since(began).Seconds(), *devices)
	f.start(t, "schedule", "--metrics", "127.0.0.1:0")
	url := f.metrics(t)
	for i, tr := range o.Spec.Triggers {
		if tr.Type == "metrics-api" {
			o.Spec.Triggers[i].Metadata["url"] = url + "/v1/scale?jobs=" + strconv.Itoa(jobs)
		}
	}
	triggers := triggersOf(t, o, f.connection(t))
	every := time.Duration(*o.Spec.PollingInterval) * time.Second / pace
	a := &autoscaler{max: mostWorkers, cooldown: time.Duration(*o.Spec.CooldownPeriod) * time.Second / pace,
		stabilization: stabilization}
	var peak, changes int
	began = time.Now()
	for last := 0; last > 0 || peak == 0; time.Sleep(every) {
		var wanted float64
		active := false
		for _, tr := range triggers {
			n, is := tr.read(t, t.Context())
			wanted, active = max(wanted, n), active || is
		}
		n := a.next(time.Now(), wanted, active)
		if n != last {
			t.Logf("%6.1fs %.2f wanted: from %d to %d workers", time.Since(began).Seconds(), wanted, last, n)
			changes++
		}
		f.scale(t, n)
		last, peak = n, max(peak, n)
		if time.Since(began) > 2*time.Hour {
			t.Fatalf("%d workers after two hours", n)
		}
	}
	if peak != mostWorkers || changes < 3 {
		t.Errorf("at most %d workers, in %d steps; want %d", peak, changes, mostWorkers)
	}
	f.wantAllFolded(t, *devices)
	t.Logf("%6.1fs done\n%s", time.Since(began).Seconds(), f.furrow(t, "status"))
}
