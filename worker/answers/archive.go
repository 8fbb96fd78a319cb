package answers

import (
	"time"

	"furrow/jobs/archive/catalog"
)

// An ArchiveVersion is what a version of a table has changed. A row that stays, in another file, has come and gone.
type ArchiveVersion struct {
	Table string `json:"table" column:"table"`
	// Storage account, of a fleet in several. Absent otherwise, and for somebody who may see one tenant.
	Storage string    `json:"storage,omitempty"`
	Version int64     `json:"version" column:"version"`
	At      time.Time `json:"at" column:"at"` // when it was made
	// as readers of the table show it, such as WRITE, MERGE or DELETE
	Operation string `json:"operation" column:"operation"`
	// Such as day closed, day made again or erased. Absent where the operation says it.
	Why        string `json:"why,omitempty" column:"why"`
	FilesAdded int64  `json:"filesAdded" column:"files_added"`
	FilesGone  int64  `json:"filesGone" column:"files_gone"`
	// Rows of the files that came. A row that stays in another file has come and gone.
	RowsAdded int64 `json:"rowsAdded" column:"rows_added"`
	RowsGone  int64 `json:"rowsGone" column:"rows_gone"`  // rows of the files that went
	Published bool  `json:"published" column:"published"` // readers find it
}

// ArchiveVersionOf returns a version of a table.
func ArchiveVersionOf(table string, v catalog.VersionSummary) ArchiveVersion {
	return ArchiveVersion{Table: table, Version: v.Number, At: v.At, Operation: v.Operation, Why: v.Why,
		FilesAdded: v.FilesAdded, FilesGone: v.FilesGone, RowsAdded: v.RowsAdded, RowsGone: v.RowsGone,
		Published: v.Published}
}

// Change returns by how many rows the version has changed the table.
func (v ArchiveVersion) Change() int64 { return v.RowsAdded - v.RowsGone }
