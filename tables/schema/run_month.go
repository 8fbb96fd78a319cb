package schema

import (
	"time"

	"furrow/tables"
)

// MonthFigures are what a month job of a run found in its partition of the fleet: a row of
// the table runs, pipeline!slot and month!month. They can also be sums over months.
type MonthFigures struct {
	Pipeline Pipeline
	Slot     tables.Ticks
	Month    Month

	Devices int64 // in the partition
	Held    int64 // devices that are passed over until a later time
	Failing int64 // devices whose last job failed, or whose rows cannot be read
	Behind  int64 // devices with more rows than one job may fold, which jobs of their own continue

	// Lag is the age of the oldest checkpoint of the devices that are behind, in whole seconds.
	Lag time.Duration

	Newer   int64 // devices with rows in a newer format, which are passed over
	Claimed int64 // devices that a job had claimed and not yet committed
	Ahead   int64 // devices with a watermark in the future, below which nothing is folded: a clock was ahead

	Rows    int64 // folded, since the beginning
	Rejects int64 // rows that were rejected, or some of their values, since the beginning
	Dropped int64 // rejects that are no longer kept
	Late    int64 // rows that audits have found, since the beginning
	Refolds int64 // devices with rows that must still be folded again
	Waiting int64 // days of archives and reports that are to be made, when the last job made some

	// WaitingLag is how long the first of these has waited, in whole seconds.
	WaitingLag time.Duration

	Batches int64 // device messages put for the run, without repetitions
	Audits  int64 // audit messages put for the run

	// Again is not zero if the month was planned a second time, when batches of the same run
	// may have been folded already. Rows can then include rows of the run.
	Again int64
}

// Properties that runs sum.
const (
	MonthBatches = "Batches"
	MonthAudits  = "Audits"
)

func (m *MonthFigures) counts() []count {
	return []count{
		{"Devices", &m.Devices}, {"Held", &m.Held}, {"Failing", &m.Failing}, {"Behind", &m.Behind},
		{"Newer", &m.Newer}, {"Claimed", &m.Claimed}, {"Ahead", &m.Ahead}, {"Rows", &m.Rows}, {"Rejects", &m.Rejects},
		{"Dropped", &m.Dropped}, {"Late", &m.Late}, {"Refolds", &m.Refolds}, {"Waiting", &m.Waiting},
		{MonthBatches, &m.Batches}, {MonthAudits, &m.Audits}, {"Again", &m.Again},
	}
}

// Add adds the figures of another partition, or of another part of it.
func (m *MonthFigures) Add(o MonthFigures) {
	addCounts(m.counts(), o.counts())
	m.Lag, m.WaitingLag = max(m.Lag, o.Lag), max(m.WaitingLag, o.WaitingLag)
}

// Entity returns the row of m.
func (m MonthFigures) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: FiguresPartition(m.Pipeline, m.Slot),
		RowKey: monthFigures + Separator + m.Month.String()}
	setCounts(&e, m.counts())
	if m.Lag >= time.Second {
		e.Set("LagSeconds", tables.Int64(int64(m.Lag/time.Second)))
	}
	if m.WaitingLag >= time.Second {
		e.Set("WaitingSeconds", tables.Int64(int64(m.WaitingLag/time.Second)))
	}
	_, err := ParsePipeline(string(m.Pipeline))
	if err == nil {
		err = m.Month.Check()
	}
	return e, err
}

// MonthFiguresOf decodes a row of the table runs for which IsMonthFigures is true.
func MonthFiguresOf(e tables.Entity) (MonthFigures, error) {
	f := fieldsOf(&e)
	m := MonthFigures{Lag: time.Duration(f.Int("LagSeconds")) * time.Second,
		WaitingLag: time.Duration(f.Int("WaitingSeconds")) * time.Second}
	readCounts(f, m.counts())
	var month string
	var err error
	m.Pipeline, m.Slot, month = figuresKey(e, f, monthFigures)
	m.Month, err = ParseMonth(month)
	f.Fail("RowKey", err)
	return m, f.Err()
}

// MonthsOf returns the range of the MonthFigures of a run.
func MonthsOf(p Pipeline, slot tables.Ticks) tables.Range {
	return tables.Range{Partitions: tables.Is(FiguresPartition(p, slot)),
		Rows: tables.KeysWithPrefix(monthFigures + Separator)}
}
