package model

import (
	"time"

	"furrow/tables/schema"
	"furrow/worker/answers"
)

// Archive is the answer of /v1/archive: the tables of a tenant, and what they have of some days.
type Archive struct {
	Tenant   string                   `json:"tenant,omitempty"` // Whose tables these are. Absent: none was asked for.
	Archives bool                     `json:"archives"`         // a pipeline keeps the archive
	Waiting  []ArchiveWaiting         `json:"waiting"`          // By pipeline. Empty for somebody who may see one tenant.
	Tables   []ArchiveTable           `json:"tables"`           // by name
	From     time.Time                `json:"from,omitzero"`    // The days begin then or later. Absent without tables.
	To       time.Time                `json:"to,omitzero"`      // The days end then or earlier. Absent without tables.
	Days     []ArchiveDay             `json:"days"`             // the newest first; at most 100
	Versions []answers.ArchiveVersion `json:"versions"`         // the newest of all tables, the newest first; at most 30
}

// An ArchiveWaiting says what of all tenants' days a pipeline is to make.
type ArchiveWaiting struct {
	Pipeline string `json:"pipeline"`
	Storage  string `json:"storage,omitempty"` // Storage account, of a fleet in several. Absent otherwise.
	// Days of all tenants that are to be made, as of the newest run. A day counts once for each partition of the
	// fleet.
	Days    int64   `json:"days"`
	Seconds float64 `json:"seconds"` // how long the first of them has waited
}

// An ArchiveTable is a table of a tenant.
type ArchiveTable struct {
	Table string `json:"table"` // such as readings, rollups-1h or reports-1d
	// Storage account, of a fleet in several. Absent otherwise, and for somebody who may see one tenant.
	Storage   string     `json:"storage,omitempty"`
	Path      string     `json:"path"`            // container and folder of the Delta table
	Days      int64      `json:"days"`            // days with rows
	First     string     `json:"first,omitempty"` // First day, such as 2026-11-20. Absent without days.
	Last      string     `json:"last,omitempty"`  // Last day. Absent without days.
	Rows      int64      `json:"rows"`
	Files     int64      `json:"files"`
	Bytes     int64      `json:"bytes"`               // of the files
	Version   int64      `json:"version"`             // newest version
	Published *int64     `json:"published,omitempty"` // Newest version that readers find. Absent: none.
	Waiting   *time.Time `json:"waiting,omitempty"`   // Since when a version is not published. Absent: all are.
	// another program writes into the table's log, so no version is published
	Foreign bool `json:"foreign"`

	last schema.Day
}

// An ArchiveDay is what the tables of a tenant have of a day.
type ArchiveDay struct {
	Date     string `json:"date"`  // such as 2026-11-20, in UTC
	Files    int    `json:"files"` // of all tables
	Readings int64  `json:"readings"`
	Rollups  int64  `json:"rollups"` // rows of all tables of rollups
	Reports  int64  `json:"reports"` // rows of all tables of reports
	Bytes    int64  `json:"bytes"`   // of the files
	// the day is not over, or not made yet as a whole: there are the hours that are over
	Open bool `json:"open"`
	// Every reading that storage had accepted then is in the tables. Absent: the day is open.
	Watermark *time.Time `json:"watermark,omitempty"`
}
