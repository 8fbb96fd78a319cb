package tracking

import (
	"time"

	"furrow/tables"
)

// RecountAge is the age up to which a device job counts rows again that are folded, besides the time from one look to
// the next, and what is missing to a whole hour. So each hour is counted once when it has an age of more than three
// hours, if the next look is an hour late:
//
//	      ├──────── 5 h + every ────────┤
//	──────┴─────────────────────────────┴─► look
//	                ├──────── 5 h + every ────────┤
//	────────────────┴─────────────────────────────┴─► next look
//	              ├─┤ not counted here any more, and 3 h old there
const RecountAge = 5 * time.Hour

// MostRecounted is how many rows are counted again. 36 are what a device with a reading in ten minutes sends in that
// time: to read more would take longer than the requests of audits do.
const MostRecounted = 36

// recountPause is how long a device is not counted again. With a reading in ten minutes it is with every third.
const recountPause = 25 * time.Minute

// RecountFrom returns the start of the rows that a job at a time counts again, of a device that jobs look at every so
// often; zero: it counts none.
func (t *Row) RecountFrom(now tables.Ticks, every time.Duration) tables.Ticks {
	from := now.Add(-RecountAge - every).Floor(tables.Hour)
	if t.Last == "" || t.Recounted <= now && t.Recounted > now.Add(-recountPause) ||
		t.Ledger.Count(from, tables.MaxTicks) > MostRecounted {
		return 0
	}
	return max(from, t.Coverage.Watermark)
}
