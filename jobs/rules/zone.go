package rules

import (
	"time"
	_ "time/tzdata" // so that zones are known where the system has none

	"furrow/tables"
)

// wallOf returns what a clock in a zone shows, as ticks.
func wallOf(at tables.Ticks, zone *time.Location) tables.Ticks {
	return at + offset(at, zone)
}

// offset returns how far a zone's clock is ahead of UTC.
func offset(at tables.Ticks, zone *time.Location) tables.Ticks {
	_, seconds := at.Time().In(zone).Zone()
	return ticks(time.Duration(seconds) * time.Second)
}

// atWall returns when a clock in a zone shows a time. If the clock is put back, it shows some times twice, and the
// first counts. If it is put forward, it skips some, and they come as much later: 02:30 is then 03:30 by the new time.
func atWall(wall tables.Ticks, zone *time.Location) tables.Ticks {
	before := offset(wall-tables.Day, zone)
	after := offset(wall+tables.Day, zone)
	if at := wall - before; before == after || offset(at, zone) == before {
		return at
	}
	if at := wall - after; offset(at, zone) == after {
		return at
	}
	return wall - before
}
