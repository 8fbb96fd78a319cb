package tabular

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetMagic begins and ends a Parquet file.
const parquetMagic = "PAR1"

// A parquetReader reads the rows of a Parquet file. A column within a group has a name like group.column, and a list is
// a JSON array.
type parquetReader struct {
	leaves []parquet.LeafColumn
	groups []parquet.RowGroup
	rows   parquet.Rows // of the current row group
	buffer []parquet.Row
	ahead  []parquet.Row // rest of the buffer
	close  func() error  // removes the copy of a stream
}

// openParquet opens a Parquet file. Reading begins at the end of the file, so a stream is first copied to a temporary
// file.
func (f *Reader) openParquet(r io.Reader) (err error) {
	p := &parquetReader{buffer: make([]parquet.Row, 64), close: func() error { return nil }}
	file, whole := r.(*os.File)
	if !whole {
		if file, err = os.CreateTemp("", "furrow-*.parquet"); err != nil {
			return err
		}
		p.close = func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }
		if _, err = io.Copy(file, r); err != nil {
			return errors.Join(err, p.close())
		}
	}
	if f.Names, err = p.open(file); err != nil {
		return errors.Join(err, p.close())
	}
	f.Format, f.parquet = Parquet, p
	return nil
}

// isRegular reports whether a file can be read anywhere.
func isRegular(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}

func (p *parquetReader) open(file *os.File) (names []string, err error) {
	defer rescue(&err)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("the Parquet file cannot be read: %w", err)
	}
	p.groups = f.RowGroups()
	for _, path := range f.Schema().Columns() {
		leaf, _ := f.Schema().Lookup(path...)
		p.leaves = append(p.leaves, leaf)
		names = append(names, columnName(path))
	}
	if len(names) > MaxColumns {
		return nil, fmt.Errorf("the file has %d columns; at most %d are read", len(names), MaxColumns)
	}
	return names, nil
}

// columnName joins the names of the groups around a column. The two groups of a list are left out.
func columnName(path []string) string {
	if n := len(path); n > 2 && (path[n-2] == "list" || path[n-2] == "bag") {
		path = path[:n-2]
	}
	return strings.Join(path, ".")
}

// rescue makes a panic of the library about a damaged file an error.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the Parquet file is damaged: %v", r)
	}
}

// next returns the next row, or io.EOF.
func (p *parquetReader) next() (r Record, err error) {
	defer rescue(&err)
	for len(p.ahead) == 0 {
		if p.rows == nil {
			if len(p.groups) == 0 {
				return nil, io.EOF
			}
			p.rows, p.groups = p.groups[0].Rows(), p.groups[1:]
		}
		n, err := p.rows.ReadRows(p.buffer)
		p.ahead = p.buffer[:n]
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the Parquet file is damaged: %w", err)
		}
		if err != nil {
			err = p.rows.Close()
			p.rows = nil
		}
		if err != nil {
			return nil, err
		}
	}
	row := p.ahead[0]
	p.ahead = p.ahead[1:]
	return p.record(row)
}

func (p *parquetReader) record(row parquet.Row) (Record, error) {
	r := make(Record, len(p.leaves))
	size := 0
	for _, v := range row {
		leaf := p.leaves[v.Column()]
		if v.IsNull() {
			continue
		}
		cell := cellOfParquet(v, leaf.Node.Type())
		if size += len(cell.Text); size > MaxLine {
			return nil, NewLineError(fmt.Errorf("the row has more than %d bytes", MaxLine))
		}
		if leaf.MaxRepetitionLevel > 0 {
			cell = appended(r[v.Column()], cell)
		}
		r[v.Column()] = cell
	}
	return r, nil
}

// appended returns a JSON array with another element.
func appended(list, element Cell) Cell {
	text := element.Text
	if element.Kind == '"' {
		quoted, _ := jsontext.AppendQuote(nil, text) // invalid UTF-8 is replaced
		text = string(quoted)
	}
	if list.Kind == 0 {
		return Cell{"[" + text + "]", '['}
	}
	return Cell{strings.TrimSuffix(list.Text, "]") + "," + text + "]", '['}
}

// cellOfParquet returns a value as a cell: times as RFC 3339, numbers as such, and bytes that are not text in Base64.
func cellOfParquet(v parquet.Value, t parquet.Type) Cell {
	number := func(text string) Cell { return Cell{text, '0'} }
	if logical := t.LogicalType(); logical != nil {
		switch l := logical.Value.(type) {
		case *format.TimestampType:
			unit := int64(time.Second / l.Unit.Value.Duration())
			at := time.Unix(v.Int64()/unit, v.Int64()%unit*int64(l.Unit.Value.Duration()))
			return Cell{at.UTC().Format(time.RFC3339Nano), '"'}
		case *format.DateType:
			return Cell{time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly), '"'}
		case *format.DecimalType:
			return number(decimal(v, int(l.Scale)))
		case *format.UUIDType:
			if id, err := uuid.FromBytes(v.ByteArray()); err == nil {
				return Cell{id.String(), '"'}
			}
		case *format.IntType:
			if !l.IsSigned && v.Kind() == parquet.Int32 {
				return number(strconv.FormatUint(uint64(uint32(v.Int32())), 10))
			}
			if !l.IsSigned {
				return number(strconv.FormatUint(uint64(v.Int64()), 10))
			}
		}
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return Cell{"true", 't'}
		}
		return Cell{"false", 'f'}
	case parquet.Int32:
		return number(strconv.FormatInt(int64(v.Int32()), 10))
	case parquet.Int64:
		return number(strconv.FormatInt(v.Int64(), 10))
	case parquet.Int96:
		return Cell{int96Time(v).Format(time.RFC3339Nano), '"'}
	case parquet.Float:
		return number(strconv.FormatFloat(float64(v.Float()), 'g', -1, 32))
	case parquet.Double:
		return number(strconv.FormatFloat(v.Double(), 'g', -1, 64))
	}
	b := v.ByteArray()
	switch {
	case len(strings.TrimSpace(string(b))) == 0:
		return Cell{}
	case utf8.Valid(b):
		return Cell{string(b), '"'}
	}
	return Cell{base64.StdEncoding.EncodeToString(b), '"'}
}

// decimal formats an integer that counts powers of ten.
func decimal(v parquet.Value, scale int) string {
	n := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // two's complement, the highest byte first
		b := v.ByteArray()
		n.SetBytes(b)
		if len(b) > 0 && b[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, 0))), nil)).
		FloatString(max(scale, 0))
}

// int96Time returns the time that older programs write: nanoseconds of a Julian day.
func int96Time(v parquet.Value) time.Time {
	const epoch = 2440588 // the Julian day of 1970-01-01
	i := v.Int96()
	nanos := int64(uint64(i[1])<<32 | uint64(i[0]))
	return time.Unix(0, 0).UTC().AddDate(0, 0, int(i[2])-epoch).Add(time.Duration(nanos))
}
