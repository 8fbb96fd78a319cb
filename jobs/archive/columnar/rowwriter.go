package columnar

import (
	"fmt"
	"io"
	"slices"

	"furrow/tables"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// Names of the columns that tables have in common.
const (
	Device = "device"
	Time   = "time"
	Key    = "key"
)

// Bounds of what a writer holds. A page is what a column holds uncompressed, so a file with many columns has smaller
// ones. Texts are never in DELTA_LENGTH_BYTE_ARRAY, the library's choice: Spark 3.5 reads it wrongly behind nulls.
const (
	groupRows  = 100_000   // of a row group, which then ends with its device
	groupBytes = 24 << 20  // of the values of a row group, about
	pages      = 8 << 20   // of all columns together
	maxPage    = 256 << 10 // of one column: who merges files holds one of each of their columns
	minPage    = 2 << 10
	dictionary = 512 << 10 // of one column; beyond that, its values are written plain
	window     = 512 << 10 // of the compressor: no page or dictionary is much larger

	maxDictionaries = 250 // sensors
)

// A group is a node whose fields keep their order; that of the library sorts them.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g group) Fields() []parquet.Field { return g.fields }

// micros is the microseconds since 1970. The row key has the seventh digit.
func micros(t tables.Ticks) int64 { return t.Time().UnixMicro() }

// A codec compresses as the library's does, which has a window of 8 MiB and holds twice that for each file.
type codec struct {
	parquetzstd.Codec
	encoder *zstd.Encoder
}

func newCodec() *codec {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true), zstd.WithWindowSize(window))
	if err != nil {
		panic(err) // none of the options is wrong
	}
	return &codec{encoder: encoder}
}

// Encode compresses a page or a dictionary.
func (c *codec) Encode(dst, src []byte) ([]byte, error) {
	return c.encoder.EncodeAll(src, dst[:0]), nil
}

// A rowWriter passes rows to the library, many at a time, and ends row groups while they are small enough to hold.
type rowWriter struct {
	file    *parquet.GenericWriter[any]
	width   int
	rows    []parquet.Row // that the library has not got yet
	free    []parquet.Row
	grouped int // rows of the row group
	bytes   int // of the row group's values, about
}

func newRowWriter(to io.Writer, names []string, nodes []parquet.Node, more ...parquet.WriterOption) rowWriter {
	fields, order := parquet.Group{}, map[string]int{}
	for i, name := range names {
		fields[name], order[name] = nodes[i], i
	}
	sorted := slices.Clone(fields.Fields())
	slices.SortFunc(sorted, func(a, b parquet.Field) int { return order[a.Name()] - order[b.Name()] })
	page := min(max(pages/len(names), minPage), maxPage)
	return rowWriter{width: len(names), file: parquet.NewGenericWriter[any](to, append(more,
		parquet.NewSchema("row", group{fields, sorted}), parquet.Compression(newCodec()), parquet.PageBufferSize(page),
		parquet.DataPageStatistics(false), // the file's index of pages has them
		parquet.WriteBufferSize(0), parquet.DictionaryMaxBytes(dictionary), parquet.CreatedBy("furrow", "1", ""))...)}
}

// begin returns a row of nulls.
func (w *rowWriter) begin() (row parquet.Row) {
	if n := len(w.free); n > 0 {
		row, w.free = w.free[n-1], w.free[:n-1]
	} else {
		row = make(parquet.Row, w.width)
	}
	for i := range row {
		row[i] = parquet.NullValue().Level(0, 0, i)
	}
	return row
}

// addRow adds a row.
func (w *rowWriter) addRow(row parquet.Row, bytes int) error {
	w.rows = append(w.rows, row)
	w.grouped++
	w.bytes += bytes
	if w.bytes >= groupBytes {
		return w.flush()
	}
	if len(w.rows) < max(1, 8192/w.width) {
		return nil
	}
	return w.pass()
}

// endGroup ends a row group that is large enough, at a place that suits readers.
func (w *rowWriter) endGroup() error {
	if w.grouped < groupRows {
		return nil
	}
	return w.flush()
}

func (w *rowWriter) pass() error {
	if _, err := w.file.WriteRows(w.rows); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	w.free, w.rows = append(w.free, w.rows...), w.rows[:0]
	return nil
}

func (w *rowWriter) flush() error {
	if err := w.pass(); err != nil {
		return err
	}
	w.grouped, w.bytes = 0, 0
	if err := w.file.Flush(); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return nil
}

func (w *rowWriter) close() error {
	if err := w.pass(); err != nil {
		return err
	}
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("writing Parquet: %w", err)
	}
	return nil
}
