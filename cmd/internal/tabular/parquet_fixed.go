package tabular

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	parquetgo "github.com/parquet-go/parquet-go"
)

// A fixedReader reads a flat column of values of a fixed length in the encoding DELTA_BYTE_ARRAY by parquet-go, because
// arrow-go does not read it.
type fixedReader struct {
	groups []parquetgo.RowGroup
	column int
	pages  parquetgo.Pages
	values parquetgo.ValueReader
	buffer []parquetgo.Value
	ahead  []parquetgo.Value
}

func newFixedReader(from parquet.ReaderAtSeeker, column int) (*fixedReader, error) {
	size, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	f, err := parquetgo.OpenFile(from, size, parquetgo.SkipPageIndex(true), parquetgo.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	return &fixedReader{groups: f.RowGroups(), column: column, buffer: make([]parquetgo.Value, batch)}, nil
}

// next returns the next value; nil if the row has none.
func (f *fixedReader) next() ([]byte, error) {
	for len(f.ahead) == 0 {
		switch {
		case f.values != nil:
			n, err := f.values.ReadValues(f.buffer)
			if f.ahead = f.buffer[:n]; errors.Is(err, io.EOF) {
				f.values = nil
			} else if err != nil {
				return nil, err
			}
		case f.pages != nil:
			page, err := f.pages.ReadPage()
			if errors.Is(err, io.EOF) {
				f.pages = nil
			} else if err != nil {
				return nil, err
			} else {
				f.values = page.Values()
			}
		case len(f.groups) == 0:
			return nil, errShort
		default:
			f.pages, f.groups = f.groups[0].ColumnChunks()[f.column].Pages(), f.groups[1:]
		}
	}
	v := f.ahead[0]
	f.ahead = f.ahead[1:]
	if v.IsNull() {
		return nil, nil
	}
	return v.ByteArray(), nil
}
