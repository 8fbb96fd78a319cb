package delta

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A Checkpoint writes what all versions up to one come to: first the columns, then files, in any order.
type Checkpoint struct {
	rows, files int64
	file        *parquet.GenericWriter[action]
}

// NewCheckpoint begins a checkpoint of a table.
//
// Texts are PLAIN in data pages of version 1: Spark 3.5 reads the library's choice, DELTA_LENGTH_BYTE_ARRAY, as empty
// texts where they are nested, and says nothing.
func NewCheckpoint(to io.Writer, m *Metadata) (*Checkpoint, error) {
	c := &Checkpoint{file: parquet.NewGenericWriter[action](to, parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("furrow", "1", ""), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		parquet.DataPageVersion(1), parquet.MaxRowsPerRowGroup(checkpointRows))}
	return c, c.write(action{Protocol: &protocol}, action{Metadata: m})
}

// checkpointRows is how many rows a checkpoint holds in memory.
const checkpointRows = 10_000

// Add writes a file that the table has.
func (c *Checkpoint) Add(a Add) error {
	a.DataChange = false
	c.files++
	return c.write(action{Add: &a})
}

// Remove writes a file that the table had, as long as readers may still have it open.
func (c *Checkpoint) Remove(r Remove) error {
	r.DataChange = false
	return c.write(action{Remove: &r})
}

func (c *Checkpoint) write(rows ...action) error {
	n, err := c.file.Write(rows)
	c.rows += int64(n)
	return err
}

// Close ends the file.
func (c *Checkpoint) Close() error { return c.file.Close() }

// Last returns what LastCheckpoint is to say of a checkpoint of so many bytes.
func (c *Checkpoint) Last(version, size int64) Last { return Last{version, c.rows, size, c.files} }

// LastOf returns what LastCheckpoint is to say of a checkpoint that was found.
func LastOf(version int64, file []byte) (Last, error) {
	r, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return Last{}, fmt.Errorf("checkpoint of version %d: %w", version, err)
	}
	return Last{Version: version, Rows: r.NumRows(), Bytes: int64(len(file))}, nil
}

// A Last is what LastCheckpoint says.
type Last struct {
	Version int64 `json:"version"`
	Rows    int64 `json:"size"`
	Bytes   int64 `json:"sizeInBytes"`
	Files   int64 `json:"numOfAddFiles,omitzero"`
}

// Marshal returns the file.
func (l Last) Marshal() ([]byte, error) { return json.Marshal(l) }

// ParseLast reads the file.
func ParseLast(file []byte) (l Last, err error) {
	if err = json.Unmarshal(file, &l); err != nil {
		err = fmt.Errorf("%s: %w", LastCheckpoint, err)
	}
	return l, err
}
