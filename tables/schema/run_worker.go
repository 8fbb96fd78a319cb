package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
)

// WorkerFigures are what a worker did for a run: a row of the table runs, pipeline!slot and
// worker!id!part. They can also be sums over workers. A killed worker's last seconds are
// missing.
type WorkerFigures struct {
	Pipeline Pipeline
	Slot     tables.Ticks
	Worker   string // unique ID of each start; a valid part of a key
	Part     int64  // number of the row: a worker can write several for a run

	First tables.Ticks `row:"First,omitzero"` // start of the first job, by the worker's clock
	Last  tables.Ticks `row:"Last,omitzero"`  // end of the last one

	Devices   int64 `row:"Devices,omitzero"`   // that device jobs have checked, each once
	Audited   int64 `row:"Audited,omitzero"`   // devices that audit jobs have checked, each once
	Folded    int64 `row:"Folded,omitzero"`    // devices with new rows that were committed
	Rows      int64 `row:"Rows,omitzero"`      // folded and committed
	Refused   int64 `row:"Refused,omitzero"`   // values and rows
	Overtaken int64 `row:"Overtaken,omitzero"` // devices that another job has taken over
	Failed    int64 `row:"Failed,omitzero"`    // devices
	Late      int64 `row:"Late,omitzero"`      // rows that an audit found below the checkpoint, and folded
	Refolded  int64 `row:"Refolded,omitzero"`  // times that days of a device were folded again, several a device perhaps
	Missing   int64 `row:"Missing,omitzero"`   // rows that were counted once and are gone
	Months    int64 `row:"Months,omitzero"`    // month jobs put by master jobs
	Again     int64 `row:"Again,omitzero"`     // device messages put by device jobs: devices far behind, and retries
	Audits    int64 `row:"Audits,omitzero"`    // audit messages put by jobs: refolds, large work, claimed devices
	Parts     int64 `row:"Parts,omitzero"`     // audit messages that continue a batch at once; the run waits for them, too
	Batches   int64 `row:"Batches,omitzero"`   // batches and parts that are done or given up

	Jobs       map[string]int64 // messages by kind and outcome: "device done"
	Operations map[string]int64 // requests by service and kind, including retries: "tables query"
}

// Add adds the figures of another worker, or of other jobs.
func (w *WorkerFigures) Add(o WorkerFigures) {
	addCounts(w, &o)
	if w.First == 0 || o.First != 0 && o.First < w.First {
		w.First = o.First
	}
	w.Last = max(w.Last, o.Last)
	w.Jobs = added(w.Jobs, o.Jobs)
	w.Operations = added(w.Operations, o.Operations)
}

func added(to, from map[string]int64) map[string]int64 {
	if to == nil {
		return maps.Clone(from)
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}

// The maps' keys are words with spaces; as names of properties they have a prefix, and
// underscores.
const (
	jobsPrefix       = "Jobs_"
	operationsPrefix = "Ops_"
)

// Entity returns the row of w.
func (w WorkerFigures) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: FiguresPartition(w.Pipeline, w.Slot)}
	e.RowKey = workerFigures + Separator + w.Worker + Separator + strconv.FormatInt(w.Part, 10)
	err := e.Encode(&w)
	setNamed(&e, jobsPrefix, w.Jobs)
	setNamed(&e, operationsPrefix, w.Operations)
	if w.Worker == "" || strings.Contains(w.Worker, Separator) {
		return e, fmt.Errorf("worker %s: an ID must not be empty or contain %s", tables.Quote(w.Worker), Separator)
	}
	_, errPipeline := ParsePipeline(string(w.Pipeline))
	return e, cmp.Or(errPipeline, err)
}

func setNamed(e *tables.Entity, prefix string, named map[string]int64) {
	for _, name := range slices.Sorted(maps.Keys(named)) {
		e.Set(prefix+strings.ReplaceAll(name, " ", "_"), tables.Int64(named[name]))
	}
}

// namedOf is the reverse of setNamed.
func namedOf(f *tables.Fields, e tables.Entity, prefix string) map[string]int64 {
	named := map[string]int64{}
	for _, p := range e.Properties {
		if name, ok := strings.CutPrefix(p.Name, prefix); ok {
			named[strings.ReplaceAll(name, "_", " ")] = f.Int(p.Name)
		}
	}
	return named
}

// WorkerFiguresOf decodes a row of the table runs for which IsWorkerFigures is true.
func WorkerFiguresOf(e tables.Entity) (WorkerFigures, error) {
	var w WorkerFigures
	f := decode(&e, &w)
	w.Jobs, w.Operations = namedOf(f, e, jobsPrefix), namedOf(f, e, operationsPrefix)
	var rest string
	w.Pipeline, w.Slot, rest = figuresKey(e, f, workerFigures)
	worker, part, _ := strings.Cut(rest, Separator)
	w.Worker = worker
	w.Part = parsed(f, "RowKey", part, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	return w, f.Err()
}
