package estimate

import (
	"math"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs/refold"
	"furrow/jobs/tracking"
	"furrow/worker"
	"furrow/worker/limits"
	"furrow/worker/price"
)

// page is how many rows storage returns at a time, and pageBytes how many bytes.
const (
	page      = 1000
	pageBytes = 4 << 20
)

// A shape is how a run's devices share batches, partitions and tenants. Of a fleet that states how often its devices
// send, a run looks at those whose next reading has come, and the others rest.
type shape struct {
	devices    float64 // that the run looks at
	resting    float64
	partitions int
	batches    float64
	tracked    float64 // transactions for claims: a batch has one for each of its partitions
	segments   float64 // the devices of one batch, partition and tenant share their outputs' transactions
	months     float64 // month jobs
	active     float64 // share of the devices that are looked at which have new readings
}

func shapeOf(f Fleet, partitions int, p config.Pipeline) shape {
	active := math.Min(1, float64(p.Cadence)/float64(f.sends()))
	if !f.stated() {
		return shapeFor(f, partitions, p, float64(f.Devices), active)
	}
	return shapeFor(f, partitions, p, float64(f.Devices)*active, 1)
}

func shapeFor(f Fleet, partitions int, p config.Pipeline, devices, active float64) shape {
	s := shape{devices: devices, resting: float64(f.Devices) - devices, partitions: partitions, active: active}
	each := devices / float64(partitions)
	tenants := math.Min(float64(f.Tenants), math.Max(1, each))
	all := float64(partitions)
	if each >= float64(p.Batch) {
		s.batches = all * math.Ceil(each/float64(p.Batch))
		s.tracked, s.segments = s.batches, s.batches+all*(tenants-1)
	} else { // a batch has several partitions whole
		s.batches = math.Ceil(all / math.Max(1, math.Floor(float64(p.Batch)/each)))
		s.tracked, s.segments = all, all*tenants
	}
	s.months = math.Ceil(all / math.Max(1, math.Floor(page*all/float64(f.Devices))))
	return s
}

// busy returns how many of some groups of devices have a device with new readings, and how many such devices each of
// those has on average. Where there are more groups than devices, the others are empty.
func (s shape) busy(groups float64) (n, devices float64) {
	groups = math.Min(groups, s.devices)
	share := 1 - math.Pow(1-s.active, s.devices/groups)
	n = groups * share
	if n == 0 {
		return 0, 0
	}
	return n, s.devices * s.active / n
}

// run returns the operations of one run.
func (s shape) run(f Fleet, p config.Pipeline, d day) map[string]float64 {
	rows := math.Max(float64(f.AtOnce), float64(p.Cadence)/float64(f.Every))
	reads := math.Ceil(rows / page)
	queries := s.devices*(1+s.active*(reads-1)) + // the new readings of each
		s.found(d) + 2*math.Ceil(float64(f.Devices)/page) + s.months + // the plan, and what the run before has planned
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
		"tables get":               1, // when audits were due last
		"tables merge":             2, // the run is enqueued, begun
		"queues put":               1 + s.months + s.batches,
		"queues delete":            1 + s.months + s.batches,
		"queues update":            s.saves(f, p),
	}
}

// listed is how many devices a request names that reads those of a list, where most of the devices between them rest.
const listed = 12

// found returns the requests that read the memberships and the tracking rows of all batches.
func (s shape) found(d day) float64 {
	if s.resting > s.devices {
		return 2 * s.batches * math.Ceil(s.devices/s.batches/listed)
	}
	between := (s.devices + s.resting) / s.batches
	return s.batches * (1 + math.Ceil(between*float64(d.state)/pageBytes))
}

// masterQueries are the run with its targets, and old runs.
const masterQueries = 2

// saves returns how often month jobs save their progress: at the end, and with each page in which a batch ends.
func (s shape) saves(f Fleet, p config.Pipeline) float64 {
	if s.devices/float64(s.partitions) < float64(p.Batch) {
		return s.months
	}
	return s.months + math.Min(s.batches, math.Ceil(float64(f.Devices)/page))
}

// tracks returns how many rows of one partition of the tracking table a run reads and writes: that of each device, and
// those of devices with new readings twice, as they are claimed and committed.
func (s shape) tracks() float64 { return s.devices / float64(s.partitions) * (1 + 2*s.active) }

// transactions returns how many a write takes for some devices together.
func transactions(w write, devices float64) float64 {
	return math.Max(math.Ceil(devices*float64(w.entities)/mostOperations),
		math.Ceil(devices*float64(w.bytes)/mostBytes))
}

// counts returns how often a day's audits ask for the rows of a device: those of every hour at the age of an hour, of
// every three hours at three, of twelve at twelve, and those of a day twice more, but not more often than there are
// runs. Where few rows lie between two of these, one request has both. Looks count the younger ones themselves, of
// devices that send rarely, before what the device has sent at once is among them.
func (f Fleet) counts(p config.Pipeline) (n float64) {
	rows := func(of time.Duration) float64 { return float64(of) / float64(f.Every) }
	looked := f.stated() && p.Cadence <= time.Hour && rows(tracking.RecountAge) <= tracking.MostRecounted
	for _, a := range []struct{ every, between time.Duration }{ // between: to what is due at the same time
		{time.Hour, 0}, {3 * time.Hour, time.Hour}, {12 * time.Hour, 6 * time.Hour}, {oneDay, oneDay}, {oneDay, 5 * oneDay},
	} {
		young := a.every < 12*time.Hour
		alone := a.between == 0 || rows(a.between) > refold.MostBetween || looked && a.every == 12*time.Hour
		if every := max(a.every, p.Cadence); alone && !(young && looked) {
			n += float64(oneDay) / float64(every) * math.Max(1, math.Ceil(rows(every)/page))
		}
	}
	return n
}

// audits returns the operations of a day's audits. Each hour has one job for a batch of all devices, or each run where
// these come more rarely.
func audits(f Fleet, partitions int, p config.Pipeline) map[string]float64 {
	jobs := float64(oneDay) / float64(max(time.Hour, p.Cadence))
	batches := shapeFor(f, partitions, p, float64(f.Devices), 1).batches
	messages := jobs * batches
	sealed := 2 * math.Ceil(batches) * float64(oneDay) / float64(max(oneDay, f.Every, p.Cadence)) // days with readings
	return map[string]float64{"tables query": float64(f.Devices)*f.counts(p) + 2*messages, "tables transaction": sealed,
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
		Operations: run, Workers: workers, entities: s.tracks()})
	e.Workers = max(e.Workers, workers)
	for kind, n := range run {
		e.Operations[kind] += n * float64(price.Month) / float64(p.Cadence)
	}
	for kind, n := range audits(f, e.Partitions, p) {
		e.Operations[kind] += n * days
	}
	e.Operations["queues get"] += polls(p, workers) + s.batches/8*float64(price.Month)/float64(p.Cadence)
}
