package model

import (
	"time"

	"furrow/tables/schema"
)

// Archive is the answer of /v1/archive: the tables of a tenant, and what they have of some days.
type Archive struct {
	Tenant   string           `json:"tenant,omitempty"` // absent: none was asked for
	Archives bool             `json:"archives"`         // a pipeline keeps the archive
	Waiting  []ArchiveWaiting `json:"waiting"`          // by pipeline; none for somebody who sees one tenant
	Tables   []ArchiveTable   `json:"tables"`           // by name
	From     time.Time        `json:"from,omitzero"`    // Days are not before it; zero without a table
	To       time.Time        `json:"to,omitzero"`      // and before it
	Days     []ArchiveDay     `json:"days"`             // the newest first
	Versions []ArchiveVersion `json:"versions"`         // the newest of all tables, the newest first
}

// An ArchiveWaiting says what of all tenants' days a pipeline is to make.
type ArchiveWaiting struct {
	Pipeline string  `json:"pipeline"`
	Storage  string  `json:"storage,omitempty"` // of a fleet in several accounts: the account
	Days     int64   `json:"days"`
	Seconds  float64 `json:"seconds"` // since the first of these waits
}

// An ArchiveTable is a table of a tenant.
type ArchiveTable struct {
	Table     string     `json:"table"`
	Storage   string     `json:"storage,omitempty"` // of a fleet in several accounts: the account
	Path      string     `json:"path"`              // container and folder
	Days      int64      `json:"days"`
	First     string     `json:"first,omitempty"` // day; absent without days
	Last      string     `json:"last,omitempty"`
	Rows      int64      `json:"rows"`
	Files     int64      `json:"files"`
	Bytes     int64      `json:"bytes"`
	Version   int64      `json:"version"`             // newest
	Published *int64     `json:"published,omitempty"` // newest version that readers find; nil: none
	Waiting   *time.Time `json:"waiting,omitempty"`   // since when a version is not published; nil: all are
	Foreign   bool       `json:"foreign"`             // another program writes into its log: nothing is published

	last schema.Day
}

// An ArchiveDay is what the tables of a tenant have of a day.
type ArchiveDay struct {
	Date      string     `json:"date"`
	Files     int        `json:"files"`
	Readings  int64      `json:"readings"`
	Rollups   int64      `json:"rollups"` // rows of all tables of rollups
	Reports   int64      `json:"reports"` // rows of all tables of reports
	Bytes     int64      `json:"bytes"`
	Open      bool       `json:"open"`                // there are only the hours that are over
	Watermark *time.Time `json:"watermark,omitempty"` // the tables have what storage had accepted then; nil: it is open
}

// An ArchiveVersion is what a version of a table has changed. A row that stays, in another file, has come and gone.
type ArchiveVersion struct {
	Table      string    `json:"table"`
	Storage    string    `json:"storage,omitempty"` // of a fleet in several accounts: the account
	Version    int64     `json:"version"`
	At         time.Time `json:"at"`
	Operation  string    `json:"operation"` // as readers show it
	Why        string    `json:"why,omitempty"`
	FilesAdded int64     `json:"filesAdded"`
	FilesGone  int64     `json:"filesGone"`
	RowsAdded  int64     `json:"rowsAdded"`
	RowsGone   int64     `json:"rowsGone"`
	Published  bool      `json:"published"`
}

// Change returns by how many rows the version has changed the table.
func (v ArchiveVersion) Change() int64 { return v.RowsAdded - v.RowsGone }
