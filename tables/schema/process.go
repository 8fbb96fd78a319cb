package schema

import (
	"cmp"
	"time"

	"furrow/tables"
)

// A Process is a row of the table config: a process that follows the fleet's configuration.
// It writes the row once a minute, and deletes it when it ends.
type Process struct {
	Name    string // unique for each start; a valid key
	Version string `row:"Version"` // of the program, for people
	Format  int64  `row:"Reads"`   // the newest format that it can read
	Seen    tables.Ticks
}

const (
	processPartition = "processes"

	// ProcessPace is how often a Process writes its row.
	ProcessPace = time.Minute
	// ProcessGone is how long after its last write a Process counts as dead.
	ProcessGone = 3 * time.Minute
)

// Processes returns the range of the processes of a fleet.
func Processes() tables.Range { return tables.Partition(processPartition) }

// Lives reports whether p counts as alive at a time of storage's clock.
func (p Process) Lives(now time.Time) bool { return now.Sub(p.Seen.Time()) < ProcessGone }

// Entity returns the row of p.
func (p Process) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: processPartition, RowKey: p.Name}
	err := e.Encode(&p)
	return e, cmp.Or(tables.CheckKey(p.Name), err)
}

// ProcessOf decodes a row of Processes.
func ProcessOf(e tables.Entity) (Process, error) {
	p, f := Process{Name: e.RowKey, Seen: e.Timestamp}, e.Fields()
	f.Decode(&p)
	return p, f.Err()
}
