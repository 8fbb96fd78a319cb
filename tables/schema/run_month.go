package schema

import (
	"cmp"
	"time"

	"furrow/tables"
)

// MonthFigures are what a month job of a run found in its partition of the fleet: a row of
// the table runs, pipeline!slot and month!month. They can also be sums over months.
type MonthFigures struct {
	Pipeline Pipeline
	Slot     tables.Ticks
	Month    Month

	Devices int64 `row:"Devices,omitzero"` // in the partition
	Held    int64 `row:"Held,omitzero"`    // devices that are passed over until a later time
	Failing int64 `row:"Failing,omitzero"` // devices whose last job failed, or whose rows cannot be read
	Behind  int64 `row:"Behind,omitzero"`  // devices with more rows than a job may fold; jobs of their own continue them

	// Lag is the age of the oldest checkpoint of the devices that are behind, in whole seconds.
	Lag time.Duration `row:"LagSeconds,omitzero"`

	Newer   int64 `row:"Newer,omitzero"`   // devices with rows in a newer format, which are passed over
	Claimed int64 `row:"Claimed,omitzero"` // devices that a job had claimed and not yet committed
	Ahead   int64 `row:"Ahead,omitzero"`   // devices with a watermark in the future: a clock was ahead, and nothing folds

	Resting int64 `row:"Resting,omitzero"` // devices that no job need look at: see Rest

	Rows    int64 `row:"Rows,omitzero"`    // folded, since the beginning
	Rejects int64 `row:"Rejects,omitzero"` // rows that were rejected, or some of their values, since the beginning
	Dropped int64 `row:"Dropped,omitzero"` // rejects that are no longer kept
	Late    int64 `row:"Late,omitzero"`    // rows that audits have found, since the beginning
	Refolds int64 `row:"Refolds,omitzero"` // devices with rows that must still be folded again
	Waiting int64 `row:"Waiting,omitzero"` // days of archives and reports that are to be made, when the last job made some

	// WaitingLag is how long the first of these has waited, in whole seconds.
	WaitingLag time.Duration `row:"WaitingSeconds,omitzero"`

	Batches int64 `row:"Batches,omitzero"` // device messages put for the run, without repetitions
	Audits  int64 `row:"Audits,omitzero"`  // audit messages put for the run

	// Again is not zero if the month was planned a second time, when batches of the same run
	// may have been folded already. Rows can then include rows of the run.
	Again int64 `row:"Again,omitzero"`
}

// Add adds the figures of another partition, or of another part of it.
func (m *MonthFigures) Add(o MonthFigures) {
	addCounts(m, &o)
	m.Lag, m.WaitingLag = max(m.Lag, o.Lag), max(m.WaitingLag, o.WaitingLag)
}

// Entity returns the row of m.
func (m MonthFigures) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: FiguresPartition(m.Pipeline, m.Slot),
		RowKey: monthFigures + Separator + m.Month.String()}
	err := e.Encode(&m)
	_, errPipeline := ParsePipeline(string(m.Pipeline))
	return e, cmp.Or(errPipeline, m.Month.Check(), err)
}

// MonthFiguresOf decodes a row of the table runs for which IsMonthFigures is true.
func MonthFiguresOf(e tables.Entity) (MonthFigures, error) {
	var m MonthFigures
	var month string
	f := decode(&e, &m)
	m.Pipeline, m.Slot, month = figuresKey(e, f, monthFigures)
	m.Month = parsed(f, "RowKey", month, ParseMonth)
	return m, f.Err()
}

// MonthsBetween returns the range of the MonthFigures of a run for the partitions of the fleet from first to last.
func MonthsBetween(p Pipeline, slot tables.Ticks, first, last Month) tables.Range {
	return tables.RowsBetween(FiguresPartition(p, slot), monthFigures+Separator+first.String(),
		monthFigures+Separator+last.String())
}
