// Package limits compares what a fleet does with the limits of an Azure storage account.
package limits

import (
	"time"

	"furrow/tables/schema"
	"furrow/worker"
)

// Azure's targets per second.
// learn.microsoft.com: "Scalability and performance targets for standard storage accounts", "… Table storage".
const (
	Account   = 20_000 // requests
	Partition = 2_000  // entities
	Queue     = 2_000  // messages
)

// Warn is the share of a limit from which on it is close.
const Warn = 0.7

// UseOfTime is the part of a cadence in which a run should be done.
const UseOfTime = 0.5

// A Load is what a pipeline asks of storage in a second, if each run takes UseOfTime of the cadence. How fast runs
// really are depends on the number of workers.
type Load struct {
	Requests float64 // of jobs and schedulers
	Readings float64 // that devices inserted, on average
	Entities float64 // of the partition with the most devices in the pipeline's tracking table
	Messages float64 // that are put and deleted
}

// Of returns the load of a pipeline's runs, the oldest first, on average. Runs that are not done yet, and those that
// furrow audit run started, do not count.
func Of(runs []worker.RunFigures, cadence time.Duration) (l Load) {
	var first, last time.Time
	var sum schema.WorkerFigures
	var entities float64
	for _, r := range runs {
		if !r.Done() || r.ByHand() {
			continue
		}
		if last = r.Run.Slot.Time(); first.IsZero() {
			first = last
		}
		sum.Add(r.Workers)
		entities += busiest(r)
	}
	if first.IsZero() || cadence <= 0 {
		return l
	}
	seconds := (last.Sub(first) + cadence).Seconds()
	for kind, n := range sum.Operations {
		l.Requests += float64(n) / (seconds * UseOfTime)
		if kind == "queues put" || kind == "queues delete" {
			l.Messages += float64(n) / (seconds * UseOfTime)
		}
	}
	l.Readings = float64(sum.Rows) / seconds
	l.Entities = entities / (seconds * UseOfTime)
	return l
}

// busiest returns how many entities a run reads and writes in the largest partition of the tracking table: it reads
// the row of each device, and writes those of devices with new readings twice.
func busiest(r worker.RunFigures) float64 {
	most := int64(0)
	for _, m := range r.ByMonth {
		most = max(most, m.Devices)
	}
	folded := 0.0
	if r.Workers.Devices > 0 {
		folded = min(1, float64(r.Workers.Folded)/float64(r.Workers.Devices))
	}
	return float64(most) * (1 + 2*folded)
}

// Own returns the limits that a pipeline has for itself.
func (l Load) Own(pipeline schema.Pipeline) []Limit {
	return []Limit{
		New("entities a second in the largest partition of "+string(pipeline), l.PartitionShare(), Partition,
			"raise the cadence, or give enrollments more shards for new devices (furrow enrollment set --shards)"),
		New("messages a second in the queue of "+string(pipeline), l.QueueShare(), Queue, "raise the batch or the cadence"),
	}
}

// Shared returns the limits that pipelines share.
func Shared(all []Load) []Limit {
	return []Limit{New("requests a second of the account", AccountShare(all), Account,
		"fold or send less often, or put new devices into another account")}
}

// PartitionShare returns the share of the limit of a partition that the pipeline uses.
func (l Load) PartitionShare() float64 { return l.Entities / Partition }

// QueueShare returns the share of the limit of a queue.
func (l Load) QueueShare() float64 { return l.Messages / Queue }

// AccountShare returns the share of an account's limit that pipelines use together. Each pipeline folds the same
// readings, so the most that one folds are those that devices insert.
func AccountShare(all []Load) float64 {
	requests, readings := 0.0, 0.0
	for _, l := range all {
		requests += l.Requests
		readings = max(readings, l.Readings)
	}
	return (requests + readings) / Account
}

// A Limit is one of storage, and the share of it that a fleet uses. Its JSON is stable.
type Limit struct {
	What  string  `json:"what"`
	Share float64 `json:"share"`          // 0.7 is 70 %
	Most  float64 `json:"most,omitempty"` // that Azure allows a second; absent for a disk
	Close bool    `json:"close"`          // at 70 % or beyond
	ToDo  string  `json:"toDo,omitempty"` // where it is close
}

// Close returns whether a share is at 70 % or beyond.
func Close(share float64) bool { return share >= Warn }

// New returns a limit, with what to do where it is close. A most of zero has no number for people.
func New(what string, share, most float64, toDo string) Limit {
	l := Limit{What: what, Share: share, Most: most, Close: Close(share)}
	if l.Close {
		l.ToDo = toDo
	}
	return l
}
