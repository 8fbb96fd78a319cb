package schema

import (
	"time"

	"furrow/tables"
)

// MonthFigures are what a month job of a run has seen of its partition of the
// fleet: a row of the table runs, pipeline!slot and month!month. Of many months,
// they are the sums.
type MonthFigures struct {
	Pipeline Pipeline
	Slot     tables.Ticks
	Month    Month

	Devices int64 // in the partition
	Held    int64 // of them, those passed over until their time
	Failing int64 // whose last job failed, or whose rows cannot be read
	Behind  int64 // that a job of their own goes on with, as there is more to fold than a job may

	// Lag is the age of the oldest checkpoint among those that are behind; whole seconds.
	Lag time.Duration

	Newer   int64 // whose rows are written in a newer format, and which are passed over
	Claimed int64 // that a job had claimed and not yet committed

	Rows    int64 // folded, since the beginning
	Rejects int64 // rows of which something was rejected, since the beginning
	Dropped int64 // of the rejects, those that are no longer kept
	Late    int64 // rows that audits have found, since the beginning
	Refolds int64 // devices with rows that are yet to be folded anew

	Batches int64 // device messages put for the run, a repeated one once
	Audits  int64 // audit messages put for the run

	// Again is not zero where the month was planned a second time, when batches of the
	// same run may have been folded: its Rows then have some of the run's own.
	Again int64
}

func (m *MonthFigures) counts() []count {
	return []count{
		{"Devices", &m.Devices}, {"Held", &m.Held}, {"Failing", &m.Failing}, {"Behind", &m.Behind},
		{"Newer", &m.Newer}, {"Claimed", &m.Claimed}, {"Rows", &m.Rows}, {"Rejects", &m.Rejects}, {"Dropped",
			&m.Dropped}, {"Late", &m.Late}, {"Refolds", &m.Refolds},
		{"Batches", &m.Batches}, {"Audits", &m.Audits}, {"Again", &m.Again},
	}
}

// Add adds the figures of another partition, or of another part of it.
func (m *MonthFigures) Add(o MonthFigures) {
	addCounts(m.counts(), o.counts())
	m.Lag = max(m.Lag, o.Lag)
}

// Entity is m as it is stored.
func (m MonthFigures) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: FiguresPartition(m.Pipeline, m.Slot), RowKey: monthFigures + Separator +
		m.Month.String()}
	setCounts(&e, m.counts())
	if m.Lag >= time.Second {
		e.Set("LagSeconds", tables.Int64(int64(m.Lag/time.Second)))
	}
	_, err := ParsePipeline(string(m.Pipeline))
	if err == nil {
		err = m.Month.Check()
	}
	return e, err
}

// MonthFiguresOf is a row of the table runs for which IsMonthFigures holds.
func MonthFiguresOf(e tables.Entity) (MonthFigures, error) {
	f := fieldsOf(&e)
	m := MonthFigures{Lag: time.Duration(f.Int("LagSeconds")) * time.Second}
	readCounts(f, m.counts())
	var month string
	var err error
	m.Pipeline, m.Slot, month = figuresKey(e, f, monthFigures)
	m.Month, err = ParseMonth(month)
	f.Fail("RowKey", err)
	return m, f.Err()
}

// MonthsOf are the rows of the months in the figures of a run.
func MonthsOf(p Pipeline, slot tables.Ticks) tables.Range {
	return tables.Range{Partitions: tables.Is(FiguresPartition(p, slot)), Rows: tables.KeysWithPrefix(monthFigures +
		Separator)}
}
