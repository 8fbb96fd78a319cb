package catalog

import (
	"fmt"

	"furrow/jobs/archive/delta"
	"furrow/tables"
)

// A version is one version of a table, with the finished bytes of its file: whoever publishes it makes nothing up, so
// two releases of Furrow cannot differ.
type version struct {
	delta.Version
	txn                 string // random: tells whose commit it is
	why                 string
	rowsAdded, rowsGone int64
}

// engine names the writer of the log.
const engine = "Furrow"

func versionRow(n int64) string { return fmt.Sprintf("%s%020d", versionRows, n) }

// row returns the row of a version.
func (v *version) row(p *partition, n int64) (tables.Entity, error) {
	e := v.describe(p, n)
	file, err := v.Bytes(n)
	set(&e, fileProperty, file)
	return e, err
}

// describe returns the row of a version without its file.
func (v *version) describe(p *partition, n int64) tables.Entity {
	v.Info.Engine, v.Info.TxnID, v.Info.Params = engine, v.txn, map[string]string{"why": v.why}
	e := p.entity(versionRow(n))
	e.Set("Txn", tables.String(v.txn))
	e.Set("Why", tables.String(v.why))
	e.Set("At", tables.Int64(v.Info.Timestamp))
	e.Set("Operation", tables.String(v.Info.Operation))
	e.Set("Begins", tables.Boolean(v.Begins))
	e.Set("FilesAdded", tables.Int64(int64(len(v.Added))))
	e.Set("FilesGone", tables.Int64(int64(len(v.Removed))))
	e.Set("RowsAdded", tables.Int64(v.rowsAdded))
	e.Set("RowsGone", tables.Int64(v.rowsGone))
	return e
}

const fileProperty = "Bytes"

// versionFile returns the file of a version's row, or nothing: a fresh log begins with it.
func versionFile(e tables.Entity) ([]byte, error) { return get(&e, fileProperty) }
