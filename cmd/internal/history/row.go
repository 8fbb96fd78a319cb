package history

import (
	"encoding/binary"
	"errors"
	"math"

	"furrow/cmd/internal/readings"
	"furrow/tables"
)

// A row is a line of the file, without its device.
type row struct {
	at     tables.Ticks
	line   int
	key    string // that the file gives the row; empty: none
	values []readings.Value
	about  []readings.Value // of the long form
}

// Kinds of values in a temporary file.
const (
	kindNumber = iota
	kindText
	kindTrue
	kindFalse
	kindWhole // of more digits than a double holds
	kindBytes // as Base64
)

func appendRow(b []byte, r row) []byte {
	b = binary.AppendUvarint(b, uint64(r.at))
	b = binary.AppendUvarint(b, uint64(r.line))
	b = appendText(b, r.key)
	return appendValues(appendValues(b, r.values), r.about)
}

func appendValues(b []byte, values []readings.Value) []byte {
	b = binary.AppendUvarint(b, uint64(len(values)))
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(v.Sensor))
		switch value := v.Value.(type) {
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, kindNumber), math.Float64bits(value))
		case string:
			b = appendText(append(b, kindText), value)
		case int64:
			b = binary.AppendVarint(append(b, kindWhole), value)
		case readings.Bytes:
			b = appendText(append(b, kindBytes), string(value))
		case bool:
			kind := byte(kindFalse)
			if value {
				kind = kindTrue
			}
			b = append(b, kind)
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// A decoder reads what was appended. Its error says that the temporary file has been changed.
type decoder struct {
	b   []byte
	err error
}

var errDamaged = errors.New("the temporary file is damaged")

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.b, d.err = nil, errDamaged
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.b, d.err = nil, errDamaged
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.uint())) }

func (d *decoder) float() float64 {
	if b := d.bytes(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) row() row {
	r := row{at: tables.Ticks(d.uint()), line: int(d.uint()), key: d.text()}
	r.values, r.about = d.values(), d.values()
	return r
}

func (d *decoder) values() (all []readings.Value) {
	for n := d.uint(); n > 0 && d.err == nil; n-- {
		v := readings.Value{Sensor: int(d.uint())}
		switch kind := d.bytes(1); {
		case kind == nil:
		case kind[0] == kindNumber:
			v.Value = d.float()
		case kind[0] == kindText:
			v.Value = d.text()
		case kind[0] == kindWhole:
			n, size := binary.Varint(d.b)
			_ = d.bytes(uint64(max(size, 0)))
			v.Value = n
		case kind[0] == kindBytes:
			v.Value = readings.Bytes(d.text())
		default:
			v.Value = kind[0] == kindTrue
		}
		all = append(all, v)
	}
	return all
}
