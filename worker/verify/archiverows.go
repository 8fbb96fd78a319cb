package verify

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"furrow/tables"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// An archivedRow is a row of a file of readings.
type archivedRow struct {
	device, key string
	cells       cells
}

func (r *archivedRow) compare(o *archivedRow) int {
	if c := strings.Compare(r.device, o.device); c != 0 {
		return c
	}
	return strings.Compare(r.key, o.key)
}

// batchCells is how many cells of a file are read at a time, about.
const batchCells = 64 << 10

// rowsOfFile yields the rows of a file of readings with the cells of columns. It holds a page of each column.
func rowsOfFile(content []byte, columns map[string]column) iter.Seq2[archivedRow, error] {
	return func(yield func(archivedRow, error) bool) {
		r, err := file.NewParquetReader(bytes.NewReader(content))
		if err != nil {
			yield(archivedRow{}, err)
			return
		}
		defer r.Close()
		for g := range r.NumRowGroups() {
			group, err := openGroup(r.RowGroup(g), columns)
			for left := r.RowGroup(g).NumRows(); left > 0 && err == nil; {
				n := min(left, pageRows, int64(max(1, batchCells/len(group))))
				left -= n
				var rows []archivedRow
				rows, err = group.read(int(n))
				for _, row := range rows {
					if !yield(row, nil) {
						return
					}
				}
			}
			if err != nil {
				yield(archivedRow{}, err)
				return
			}
		}
	}
}

// A groupColumn is a column of a row group, from the row that comes next.
type groupColumn struct {
	column
	name string
	next func(n int) ([]string, error) // values as text, which is empty where a row has none
}

type rowGroup []groupColumn

func openGroup(of *file.RowGroupReader, columns map[string]column) (all rowGroup, err error) {
	has := map[string]bool{}
	for i := range of.NumColumns() {
		chunk, err := of.Column(i)
		if err != nil {
			return nil, err
		}
		one := groupColumn{name: chunk.Descriptor().Name()}
		is := false
		if one.column, is = columns[one.name]; !is {
			return nil, fmt.Errorf("its column %s is not one of the table", tables.Quote(one.name))
		}
		if one.next = one.reader(chunk); one.next == nil {
			return nil, fmt.Errorf("its column %s does not have the type %s", tables.Quote(one.name), one.kind)
		}
		has[one.name] = true
		all = append(all, one)
	}
	for name, c := range columns {
		if always := c.kind == "device" || c.kind == "key" || c.kind == moment; always && !has[name] {
			return nil, fmt.Errorf("it has no column %s", name)
		}
	}
	return all, nil
}

// read reads the next rows.
func (all rowGroup) read(n int) ([]archivedRow, error) {
	rows := make([]archivedRow, n)
	for i := range rows {
		rows[i].cells = cells{}
	}
	for _, c := range all {
		values, err := c.next(n)
		if err == nil && len(values) < n {
			err = errors.New("it has fewer values than the file has rows")
		}
		for i, text := range values {
			if err == nil && text != "" {
				err = rows[i].set(&c, text)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("its column %s: %w", tables.Quote(c.name), err)
		}
	}
	return rows, nil
}

func (r *archivedRow) set(c *groupColumn, text string) error {
	switch {
	case c.about:
	case c.more:
		return r.cells.setMore(text)
	case c.cell == cell{kind: "device"}:
		r.device = text
	case c.cell == cell{kind: "key"}:
		r.key = text
	default:
		r.cells[c.cell] = text
	}
	return nil
}

// reader returns a function that reads the next values of a column, or nil if the file has values of another kind.
func (c *column) reader(chunk file.ColumnChunkReader) func(n int) ([]string, error) {
	switch chunk := chunk.(type) {
	case *file.Float64ColumnChunkReader:
		if c.kind == double {
			return texts(chunk.ReadBatch, doubleText)
		}
	case *file.Int64ColumnChunkReader:
		if c.kind == long || c.kind == moment {
			return texts(chunk.ReadBatch, wholeText)
		}
	case *file.BooleanColumnChunkReader:
		if c.kind == doubtful {
			return texts(chunk.ReadBatch, func(is bool) string {
				if is {
					return doubtful
				}
				return ""
			})
		}
	case *file.ByteArrayColumnChunkReader:
		switch {
		case c.more || c.kind == "device" || c.kind == "key":
			return texts(chunk.ReadBatch, parquet.ByteArray.String)
		case c.kind == words:
			return texts(chunk.ReadBatch, func(b parquet.ByteArray) string { return strconv.Quote(string(b)) })
		case c.kind == binaries:
			return texts(chunk.ReadBatch, func(b parquet.ByteArray) string { return bytesText(b) })
		}
	}
	return nil
}

func doubleText(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }

func wholeText(n int64) string { return strconv.FormatInt(n, 10) + " (long)" }

func bytesText(b []byte) string { return base64.StdEncoding.EncodeToString(b) + " (bytes)" }

// texts returns a function that reads the next values of a column as text. It returns fewer at its end.
func texts[T any](read func(int64, []T, []int16, []int16) (int64, int, error), text func(T) string,
) func(n int) ([]string, error) {
	var values []T
	var levels []int16
	return func(n int) ([]string, error) {
		if len(values) < n {
			values, levels = make([]T, n), make([]int16, n)
		}
		all := make([]string, 0, n)
		for len(all) < n {
			rows, has, err := read(int64(n-len(all)), values, levels, nil)
			if err != nil || rows == 0 {
				return all, err
			}
			for i, at := 0, 0; i < int(rows); i++ {
				if has < int(rows) && levels[i] == 0 { // null
					all = append(all, "")
					continue
				}
				all = append(all, text(values[at]))
				at++
			}
		}
		return all, nil
	}
}
