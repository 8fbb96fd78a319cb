package catalog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"furrow/jobs/archive/delta"
	"furrow/tables"
)

// A version is one version of a table, with the finished bytes of its file: whoever publishes it makes nothing up, so
// two releases of Furrow cannot differ.
type version struct {
	delta.Version
	txn string // random: tells whose commit it is
	why string
}

// engine names the writer of the log.
const engine = "Furrow"

func versionRow(n int64) string { return fmt.Sprintf("%s%020d", versionRows, n) }

// versionRow returns the row of a version.
func (t *Table) versionRow(n int64, v *version) (tables.Entity, error) {
	v.Info.Engine, v.Info.TxnID, v.Info.Params = engine, v.txn, map[string]string{}
	file, err := v.Bytes(n)
	if err != nil {
		return tables.Entity{}, err
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level
	if _, err = z.Write(file); err == nil {
		err = z.Close()
	}
	e := t.entity(versionRow(n))
	e.Set("Txn", tables.String(v.txn))
	e.Set("Why", tables.String(v.why))
	e.Set("At", tables.Int64(v.Info.Timestamp))
	for i := 0; packed.Len() > 0; i++ {
		e.Set(part(i), tables.Binary(bytes.Clone(packed.Next(tables.MaxProperty))))
	}
	return e, err
}

// part is the property of one part of a version's file.
func part(i int) string { return fmt.Sprint("Bytes", i) }

// versionFile returns the file of a version's row.
func versionFile(e tables.Entity) ([]byte, error) {
	var packed bytes.Buffer
	for i := 0; e.Get(part(i)) != (tables.Value{}); i++ {
		packed.Write(e.Get(part(i)).Binary())
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", e.RowKey, err)
	}
	file, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", e.RowKey, err)
	}
	return file, nil
}
