package catalog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"furrow/tables"
)

// set sets properties to bytes, compressed: in parts, as one property holds 64 KiB.
func set(e *tables.Entity, name string, content []byte) {
	if len(content) == 0 {
		return
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a valid level
	_, _ = z.Write(content)                                    // into memory
	_ = z.Close()
	for i := 0; packed.Len() > 0; i++ {
		e.Set(part(name, i), tables.Binary(bytes.Clone(packed.Next(tables.MaxProperty))))
	}
}

func part(name string, i int) string { return fmt.Sprint(name, i) }

// get returns the bytes that set has set, or nothing.
func get(e *tables.Entity, name string) ([]byte, error) {
	var packed bytes.Buffer
	for i := 0; e.Get(part(name, i)) != (tables.Value{}); i++ {
		packed.Write(e.Get(part(name, i)).Binary())
	}
	if packed.Len() == 0 {
		return nil, nil
	}
	z, err := gzip.NewReader(&packed)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", e.RowKey, err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", e.RowKey, err)
	}
	return content, nil
}
