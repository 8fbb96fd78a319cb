package estimate

import (
	"math"
	"time"

	"furrow/cmd/internal/config"
	"furrow/worker"
	"furrow/worker/limits"
	"furrow/worker/price"
)

// page is how many rows storage returns at a time, and pageBytes how many bytes.
const (
	page      = 1000
	pageBytes = 4 << 20
)

// A shape is how a run's devices share batches, partitions and tenants.
type shape struct {
	devices, partitions int
	batches             float64
	tracked             float64 // transactions for claims: a batch has one for each of its partitions
	segments            float64 // the devices of one batch, partition and tenant share their outputs' transactions
	months              float64 // month jobs
	active              float64 // share of the devices that have new readings in a run
}

func shapeOf(f Fleet, partitions int, p config.Pipeline) shape {
	s := shape{devices: f.Devices, partitions: partitions,
		active: math.Min(1, float64(p.Cadence)/float64(f.Every))}
	each := float64(f.Devices) / float64(partitions)
	tenants := math.Min(float64(f.Tenants), math.Max(1, each))
	all := float64(partitions)
	if each >= float64(p.Batch) {
		s.batches = all * math.Ceil(each/float64(p.Batch))
		s.tracked, s.segments = s.batches, s.batches+all*(tenants-1)
	} else { // a batch has several partitions whole
		s.batches = math.Ceil(all / math.Max(1, math.Floor(float64(p.Batch)/each)))
		s.tracked, s.segments = all, all*tenants
	}
	s.months = math.Ceil(all / math.Max(1, math.Floor(page/each)))
	return s
}

// busy returns how many of some groups of devices have a device with new readings, and how many such devices each of
// those has on average.
func (s shape) busy(groups float64) (n, devices float64) {
	share := 1 - math.Pow(1-s.active, float64(s.devices)/groups)
	n = groups * share
	if n == 0 {
		return 0, 0
	}
	return n, float64(s.devices) * s.active / n
}

// run returns the operations of one run.
func (s shape) run(f Fleet, p config.Pipeline, d day) map[string]float64 {
	devices, each := float64(s.devices), float64(s.devices)/s.batches
	rows := math.Max(1, float64(p.Cadence)/float64(f.Every))
	reads := math.Ceil(rows / page)
	queries := devices*(1+s.active*(reads-1)) + // the new readings of each
		s.batches*(1+math.Ceil(each*float64(d.state)/pageBytes)) + // its memberships and tracking rows
		2*math.Ceil(devices/page) + s.months + // the plan, and the batches that it counts
		s.months + 1 + // the partitions of the fleet
		masterQueries
	busy, claimed := s.busy(s.tracked)
	total := busy * (transactions(write{1, 200}, claimed) + transactions(write{1, d.state}, claimed))
	segments, members := s.busy(s.segments)
	written := 0.0
	for _, r := range d.runs {
		for _, w := range r {
			written += segments * transactions(w, members)
		}
	}
	if n := len(d.runs); n > 0 {
		total += written / float64(n)
	}
	return map[string]float64{
		"tables query": queries, "tables transaction": total,
		"tables insert":            1, // the run
		"tables insert or replace": s.months,
		"tables get":               s.months + 1, // and when audits were due last
		"tables merge":             2 + s.months, // the run is enqueued, begun, planned
		"queues put":               1 + s.months + s.batches,
		"queues delete":            1 + s.months + s.batches,
		"queues update":            s.saves(p),
	}
}

// masterQueries are the run with its targets, and old runs.
const masterQueries = 2

// saves returns how often month jobs save their progress: at the end, and with each page in which a batch ends.
func (s shape) saves(p config.Pipeline) float64 {
	if s.devices/s.partitions < p.Batch {
		return s.months
	}
	return s.months + math.Ceil(float64(s.devices)/page)
}

// transactions returns how many a write takes for some devices together.
func transactions(w write, devices float64) float64 {
	return math.Max(math.Ceil(devices*float64(w.entities)/mostOperations),
		math.Ceil(devices*float64(w.bytes)/mostBytes))
}

// What audits do in a day: rows are counted at 1, 3 and 12 hours in one job an hour, and twice more in a job a day.
const (
	hourlyCounts = 3
	dailyCounts  = 2
)

// audits returns the operations of a day's audits.
func (s shape) audits(f Fleet) map[string]float64 {
	perHour := float64(time.Hour) / float64(f.Every)
	counts := 24*hourlyCounts*math.Max(1, math.Ceil(perHour/page)) +
		dailyCounts*math.Max(1, math.Ceil(24*perHour/page))
	messages := s.batches * (24 + dailyCounts)
	return map[string]float64{"tables query": float64(s.devices)*counts + 2*messages,
		"queues put": messages, "queues delete": messages}
}

// polls is how often a worker looks into a pipeline's queues in a month, besides what finds messages: after each run
// with growing pauses, up to half a minute.
func polls(p config.Pipeline, workers int) float64 {
	const first, longest, catchup = 100 * time.Millisecond, 30 * time.Second, 25 * time.Second
	n, left := 0.0, p.Cadence
	for pause := first; left > 0; pause = min(2*pause, longest) {
		n, left = n+1, left-pause
	}
	return float64(workers) * float64(price.Month) * (n/float64(p.Cadence) + 1/float64(catchup))
}

// batchTakes is an assumption about workers on Azure: most of it is waiting for storage.
const batchTakes = 2 * time.Second

// pipeline adds what a pipeline does in a month.
func (e *Estimate) pipeline(f Fleet, p config.Pipeline, d day) {
	s := shapeOf(f, e.Partitions, p)
	run := s.run(f, p, d)
	within := limits.UseOfTime * p.Cadence.Seconds()
	workers := max(1, int(math.Ceil(s.batches*batchTakes.Seconds()/worker.DefaultSize/within)))
	e.Pipelines = append(e.Pipelines, Pipeline{Pipeline: p.Name, CadenceSeconds: p.Cadence.Seconds(), Messages: s.batches,
		Operations: run, Workers: workers})
	e.Workers = max(e.Workers, workers)
	for kind, n := range run {
		e.Operations[kind] += n * float64(price.Month) / float64(p.Cadence)
	}
	for kind, n := range s.audits(f) {
		e.Operations[kind] += n * days
	}
	e.Operations["queues get"] += polls(p, workers) + s.batches/8*float64(price.Month)/float64(p.Cadence)
}
