package live

import "furrow/tables"

// Times are what a job takes the time for. The first three have the settle time subtracted.
type times struct {
	horizon tables.Ticks // by storage's clock: rows up to here are folded
	sure    tables.Ticks // over by storage's clock and this process's
	over    tables.Ticks // over by the scheduler's, too
	present tables.Ticks // the later one of storage's clock and this process's
	latest  tables.Ticks // the latest of all three
}
