package schema

import (
	"time"

	"furrow/tables"
)

// A Process is a row of the table config: a process that works under the fleet's
// configuration. It writes the row once a minute, and deletes it when it ends.
type Process struct {
	Name    string // of one start of it, fit for a key
	Version string // of the program, for people
	Format  int64  // the newest that it reads, as Format
	Seen    tables.Ticks
}

const (
	processPartition = "processes"

	// ProcessPace is how often a Process writes its row.
	ProcessPace = time.Minute
	// ProcessGone is how long after its last row a Process is taken for dead.
	ProcessGone = 3 * time.Minute
)

// Processes are those of a fleet.
func Processes() tables.Range { return tables.Partition(processPartition) }

// Lives tells whether p is taken for alive at a time of storage's clock.
func (p Process) Lives(now time.Time) bool { return now.Sub(p.Seen.Time()) < ProcessGone }

// Entity is p as it is stored.
func (p Process) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: processPartition, RowKey: p.Name}
	e.Set("Version", tables.String(p.Version))
	e.Set("Reads", tables.Int64(p.Format))
	return e, tables.CheckKey(p.Name)
}

// ProcessOf is a row of Processes.
func ProcessOf(e tables.Entity) (Process, error) {
	f := e.Fields()
	p := Process{Name: e.RowKey, Version: f.String("Version"), Format: f.Int("Reads"), Seen: e.Timestamp}
	return p, f.Err()
}
