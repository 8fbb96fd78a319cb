package tabular

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// pages are those of a column. The library allocates what the header of a dictionary says, which a damaged file may say
// wrongly: such a page panics, which is an error of the file.
type pages struct {
	file.PageReader
	least int // bytes of a value
}

func (p pages) Page() file.Page {
	page := p.PageReader.Page()
	if dictionary, is := page.(*file.DictionaryPage); is {
		p.check(dictionary)
	}
	return page
}

func (p pages) GetDictionaryPage() (*file.DictionaryPage, error) {
	page, err := p.PageReader.GetDictionaryPage()
	if page != nil {
		p.check(page)
	}
	return page, err
}

func (p pages) check(dictionary *file.DictionaryPage) {
	if int64(dictionary.NumValues())*int64(p.least) > int64(len(dictionary.Data())) {
		panic(errors.New("a dictionary says that it has more values than it has"))
	}
}

// columnOf returns the reader of a column of a row group.
func (p *parquetReader) columnOf(group *file.RowGroupReader, i int, of *schema.Column) (file.ColumnChunkReader, error) {
	in, err := group.GetColumnPageReader(i)
	if err != nil {
		return nil, err
	}
	chunk, err := group.MetaData().ColumnChunk(i)
	if err != nil {
		return nil, err
	}
	from, size := placeOf(chunk)
	if p.file.MetaData().WriterVersion().LessThan(metadata.Parquet816FixedVersion) {
		size = min(size+olderHeader, p.size-from)
	}
	section := io.NewSectionReader(p.from, from, size)
	buffered, err := p.properties.GetStream(p.from, from, size)
	if err != nil {
		return nil, err
	}
	in.Reset(&column{buffered, bufio.NewReaderSize(section, 16<<10)}, chunk.NumValues(), chunk.Compression(), nil)
	least := map[parquet.Type]int{parquet.Types.Int32: 4, parquet.Types.Int64: 8, parquet.Types.Int96: 12,
		parquet.Types.Float: 4, parquet.Types.Double: 8, parquet.Types.ByteArray: 4,
		parquet.Types.FixedLenByteArray: of.TypeLength()}[of.PhysicalType()]
	//lint:ignore SA1019 nothing else takes pages that were checked; the pool has what the function wants
	return file.NewColumnReader(of, pages{in, least}, limited{memory.DefaultAllocator}, &p.buffers), nil
}

// olderHeader is how many bytes files of old writers may have beyond what they say of a column: PARQUET-816.
const olderHeader = 100

// placeOf returns where a column is in the file, and how many bytes it has.
func placeOf(chunk *metadata.ColumnChunkMetaData) (from, size int64) {
	from = chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	return from, chunk.TotalCompressedSize()
}

// A column reads the bytes of a column. That of the library reads on for ever where a column has less than it says.
type column struct {
	parquet.BufferedReader
	in *bufio.Reader
}

func (c *column) Peek(n int) ([]byte, error) {
	if n > c.in.Size() {
		c.in = bufio.NewReaderSize(c.in, n)
	}
	return c.in.Peek(n)
}

func (c *column) Discard(n int) (int, error) { return c.in.Discard(n) }

// Read reads all of b, as the library expects, or what is left.
func (c *column) Read(b []byte) (int, error) {
	n, err := io.ReadFull(c.in, b)
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// buffers returns those that columns share.
func buffers() sync.Pool {
	return sync.Pool{New: func() any { return memory.NewResizableBuffer(limited{memory.DefaultAllocator}) }}
}

// mostPage is how many bytes a page of Parquet may have.
const mostPage = 64 << 20

// A limited allocator refuses what no page takes.
type limited struct{ memory.Allocator }

func (l limited) Allocate(size int) []byte {
	checkPage(size)
	return l.Allocator.Allocate(size)
}

func (l limited) Reallocate(size int, was []byte) []byte {
	checkPage(size)
	return l.Allocator.Reallocate(size, was)
}

func checkPage(size int) {
	if size < 0 || size > mostPage {
		panic(fmt.Errorf("a page has more than %d MiB", mostPage>>20))
	}
}
