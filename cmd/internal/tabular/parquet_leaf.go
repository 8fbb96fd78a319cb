package tabular

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// A leaf reads the entries of a column: a value, or the level down to which there is one.
type leaf struct {
	column     *schema.Column
	defs, reps []int16
	at, n      int
	value      int // the next of the values that were read
	read       func() (entries int64, err error)
	cell       func(i int) (Cell, error)
	fixed      *fixedReader // reads the column instead; nil for most
	refused    error        // why a value within a list or map of the row was refused
}

// batch is how many entries are read at a time.
const batch = 512

// open begins a row group.
func (l *leaf) open(chunk file.ColumnChunkReader) error {
	l.defs, l.reps, l.at, l.n = make([]int16, batch), make([]int16, batch), 0, 0
	switch chunk := chunk.(type) {
	case *file.BooleanColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v bool) (Cell, error) {
			return Cell{strconv.FormatBool(v), map[bool]jsontext.Kind{true: 't', false: 'f'}[v]}, nil
		})
	case *file.Int32ColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v int32) (Cell, error) { return l.integer(int64(v), 32) })
	case *file.Int64ColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v int64) (Cell, error) { return l.integer(v, 64) })
	case *file.Int96ColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v parquet.Int96) (Cell, error) {
			return Cell{int96(v).Format(time.RFC3339Nano), '"'}, nil
		})
	case *file.Float32ColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v float32) (Cell, error) { return float(float64(v), 32) })
	case *file.Float64ColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v float64) (Cell, error) { return float(v, 64) })
	case *file.ByteArrayColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v parquet.ByteArray) (Cell, error) { return l.bytes(v) })
	case *file.FixedLenByteArrayColumnChunkReader:
		each(l, chunk, chunk.ReadBatchInPage, func(v parquet.FixedLenByteArray) (Cell, error) { return l.bytes(v) })
	default:
		return fmt.Errorf("column %s has a type that is not read", l.column.Path())
	}
	return nil
}

// A chunk is what readers of all types have.
type chunk interface {
	HasNext() bool
	Err() error
}

// each has a leaf read values of a type.
func each[T any](l *leaf, c chunk, read func(int64, []T, []int16, []int16) (int64, int, error),
	cell func(T) (Cell, error)) {
	values := make([]T, batch)
	l.cell = func(i int) (Cell, error) { return cell(values[i]) }
	l.read = func() (entries int64, err error) {
		for entries == 0 && err == nil && c.HasNext() {
			entries, _, err = read(batch, values, l.defs, l.reps)
		}
		if err == nil {
			err = c.Err()
		}
		if errors.Is(err, io.EOF) { // of the column: whether rows are left is known already
			err = nil
		}
		return entries, err
	}
}

// peek returns the levels of the next entry.
func (l *leaf) peek() (def, rep int16, err error) {
	if l.at == l.n {
		n, err := l.read()
		if err != nil {
			return 0, 0, err
		}
		if n == 0 {
			return 0, 0, errShort
		}
		l.at, l.n, l.value = 0, int(n), 0
	}
	def = l.defs[l.at]
	if l.column.MaxDefinitionLevel() == 0 {
		def = 0
	}
	if l.column.MaxRepetitionLevel() > 0 {
		rep = l.reps[l.at]
	}
	return def, rep, nil
}

// nextEntry returns the next entry.
func (l *leaf) nextEntry() (def int16, c Cell, err error) {
	if l.fixed != nil {
		b, err := l.fixed.next()
		if err == nil && b != nil {
			c, err = l.bytes(b)
		}
		return 0, c, err
	}
	if def, _, err = l.peek(); err != nil {
		return 0, c, err
	}
	l.at++
	if def == l.column.MaxDefinitionLevel() {
		l.value++
		c, err = l.cell(l.value - 1)
	}
	return def, c, err
}

// supported returns an error for a type whose values would be read as something else.
func (l *leaf) supported() error {
	logical := l.column.LogicalType()
	switch logical.(type) {
	case schema.IntervalLogicalType:
		return fmt.Errorf("column %s is an INTERVAL, which is not read; write it again as a number of seconds",
			l.column.Path())
	case schema.VariantLogicalType, schema.UnknownLogicalType:
		return fmt.Errorf("column %s has the type %s, which is not read; leave it out or write it again as text or number",
			l.column.Path(), logical)
	}
	if l.column.ConvertedType() == schema.ConvertedTypes.Interval {
		return fmt.Errorf("column %s is an INTERVAL, which is not read; write it again as a number of seconds",
			l.column.Path())
	}
	return nil
}

// typeName returns the type for people.
func (l *leaf) typeName() string {
	switch logical := l.column.LogicalType().(type) {
	case schema.NoLogicalType, nil:
	default:
		return strings.ToLower(strings.Split(logical.String(), "(")[0])
	}
	switch l.column.PhysicalType() {
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		return "bytes, as Base64"
	}
	return strings.ToLower(l.column.PhysicalType().String())
}

// integer returns a whole number by its logical type.
func (l *leaf) integer(v int64, size int) (Cell, error) {
	switch logical := l.column.LogicalType().(type) {
	case schema.TimestampLogicalType:
		layout := "2006-01-02T15:04:05.999999999"
		if logical.IsAdjustedToUTC() {
			layout = time.RFC3339Nano
		}
		unit := perSecond(logical.TimeUnit())
		return Cell{time.Unix(floor(v, unit), (v-floor(v, unit)*unit)*(1e9/unit)).UTC().Format(layout), '"'}, nil
	case schema.TimeLogicalType:
		unit := perSecond(logical.TimeUnit())
		return Cell{time.Unix(v/unit, v%unit*(1e9/unit)).UTC().Format("15:04:05.999999999"), '"'}, nil
	case schema.DateLogicalType:
		return Cell{time.Unix(v*86400, 0).UTC().Format(time.DateOnly), '"'}, nil
	case schema.DecimalLogicalType:
		return Cell{decimal(big.NewInt(v), int(logical.Scale())), '0'}, nil
	case schema.IntLogicalType:
		if !logical.IsSigned() && size == 32 {
			return Cell{strconv.FormatUint(uint64(uint32(v)), 10), '0'}, nil
		} else if !logical.IsSigned() {
			return Cell{strconv.FormatUint(uint64(v), 10), '0'}, nil
		}
	}
	return Cell{strconv.FormatInt(v, 10), '0'}, nil
}

// int96 returns the time of a Julian day and the nanoseconds since its midnight. The library is right only for the
// years 1678 to 2262: it takes any other time for one of these.
func int96(v parquet.Int96) time.Time {
	const epoch = 2440588 // 1970-01-01
	day := int64(binary.LittleEndian.Uint32(v[8:])) - epoch
	return time.Unix(day*86400, int64(binary.LittleEndian.Uint64(v[:8]))).UTC()
}

func floor(v, unit int64) int64 {
	if v < 0 && v%unit != 0 {
		return v/unit - 1
	}
	return v / unit
}

func perSecond(unit schema.TimeUnitType) int64 {
	switch unit {
	case schema.TimeUnitMillis:
		return 1e3
	case schema.TimeUnitMicros:
		return 1e6
	}
	return 1e9
}

// float returns a number. Programs write NaN for a value that is missing.
func float(v float64, size int) (Cell, error) {
	switch {
	case math.IsNaN(v):
		return Cell{}, nil
	case math.IsInf(v, 0):
		return Cell{}, &LineError{errors.New("an infinity is no value")}
	}
	return Cell{strconv.FormatFloat(v, 'g', -1, size), '0'}, nil
}

// textOf returns a text. In CSV and JSON, bytes that are not UTF-8 are refused, too.
func textOf(v string) (Cell, error) {
	if !utf8.ValidString(v) {
		return Cell{}, &LineError{fmt.Errorf("%s is not UTF-8", strconv.QuoteToASCII(v[:min(len(v), 40)]))}
	}
	return Cell{v, '"'}, nil
}

// bytes returns bytes by their logical type: without one they are no text, whatever they look like.
func (l *leaf) bytes(v []byte) (Cell, error) {
	switch logical := l.column.LogicalType().(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return textOf(string(v))
	case schema.DecimalLogicalType:
		if len(v) == 0 {
			return Cell{}, nil
		}
		n := new(big.Int).SetBytes(v) // two's complement, the highest byte first
		if len(v) > 0 && v[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		return Cell{decimal(n, int(logical.Scale())), '0'}, nil
	case schema.UUIDLogicalType:
		if id, err := uuid.FromBytes(v); err == nil {
			return Cell{id.String(), '"'}, nil
		}
	case schema.Float16LogicalType:
		if len(v) == 2 {
			return float(float64(float16.FromLEBytes(v).Float32()), 32)
		}
	}
	return Cell{base64.StdEncoding.EncodeToString(v), '"'}, nil
}

// decimal formats an integer that counts powers of ten, without zeros at its end.
func decimal(n *big.Int, scale int) string {
	text := new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, 0))), nil)).
		FloatString(max(scale, 0))
	if scale > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
