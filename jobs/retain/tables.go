package retain

import (
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A KeptTable says how long the rows of a table are kept.
type KeptTable struct {
	Table  string        // without the prefix of the fleet's names, or archive
	Window schema.Window // of the rows; zero: they have none, or whatever it is
	Kept   time.Duration // zero: for ever
	lag    time.Duration // they go so much later
}

// Below returns the time below which rows are old enough to go: the start of a day, or 0.
func (t KeptTable) Below(now tables.Ticks) tables.Ticks {
	if t.Kept == 0 {
		return 0
	}
	return before(t.Kept+t.lag, now)
}

// Tables that retention knows, by the names that Outdated, KeptTable and metrics have for them.
const (
	ReadingsTable = "readings"
	rollupsTable  = "rollups"
	rejectsTable  = "rejects"
	commandsTable = "commands"
	archiveTable  = "archive"
)

// RetentionTables returns the names of the tables that retention deletes from, besides those of buckets.
func RetentionTables() []string {
	return []string{activityTable, archiveTable, commandsTable, schema.Deliveries, incidentsTable, ReadingsTable,
		rejectsTable, reportsTable}
}

// Own returns what is said of tables with rows of single devices, beside their readings.
func (k *Keep) Own() []KeptTable {
	if k == nil {
		k = &Keep{}
	}
	return append(windowed(rollupsTable, k.Rollups, 0), KeptTable{Table: rejectsTable, Kept: k.Rejects},
		KeptTable{Table: commandsTable, Kept: k.Commands})
}

// Whole returns what is said of tables with rows of tenants as a whole. They go a day late: jobs neither write nor
// replace what is older than configured, so none that began before that works on what a sweep deletes.
func (k *Keep) Whole() []KeptTable {
	if k == nil {
		k = &Keep{}
	}
	all := append(windowed(schema.BucketsTable, k.Buckets, sweepLag), windowed(reportsTable, k.Reports, sweepLag)...)
	return append(all, KeptTable{Table: incidentsTable, Kept: k.Incidents, lag: sweepLag},
		KeptTable{Table: schema.Deliveries, Kept: k.Incidents, lag: sweepLag},
		KeptTable{Table: activityTable, Kept: k.Activity, lag: sweepLag},
		KeptTable{Table: archiveTable, Kept: k.Archive, lag: sweepLag})
}

// windowed returns the windows of a table, or the table for ever.
func windowed(table string, kept map[schema.Window]time.Duration, lag time.Duration) (all []KeptTable) {
	for _, w := range slices.Sorted(maps.Keys(kept)) {
		all = append(all, KeptTable{table, w, kept[w], lag})
	}
	if len(all) == 0 {
		all = []KeptTable{{Table: table}}
	}
	return all
}

// keptTable returns what is said of a table and window; zero: it is kept for ever.
func keptTable(all []KeptTable, table string, w schema.Window) KeptTable {
	for _, t := range all {
		if t.Table == table && t.Window == w {
			return t
		}
	}
	return KeptTable{Table: table, Window: w}
}

// sweepLag is how much longer than configured a tenant's rows are kept. Jobs neither write nor replace what is older
// than configured, so none that began before that works on what a sweep deletes.
const sweepLag = 24 * time.Hour

const activityTable = "activity"

// incidentsTable is the table of incidents, without the prefix of the fleet's names.
const incidentsTable = "incidents"

const reportsTable = "reports"
