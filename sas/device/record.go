package device

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"time"
)

// The file is a title followed by records. A record is the length and the CRC of a payload,
// 4 bytes each, and the payload, whose first byte is its kind.
const (
	title      = "furrow readings 1\n"
	frame      = 8
	maxPayload = 8 << 20
)

// Kinds of records.
const (
	kindBoot    = 'b'
	kindClock   = 'c'
	kindReading = 'r'
	kindPast    = 'p'
)

// A bootRecord describes a boot. It precedes all other records of that boot.
type bootRecord struct {
	nonce       string
	device      string
	wall, after int64 // Unix nanoseconds
}

// A clockRecord is the server's time at the start of a boot. The first one of a boot counts.
type clockRecord struct {
	nonce      string
	zero, seen int64 // Unix nanoseconds
}

// A readingRecord is an accepted reading.
type readingRecord struct {
	stamp
	nonce string // of its boot
	seq   uint64
	body  []byte
}

// A place is a part of the file. As a record it means that the readings in that part need
// not be sent any more.
type place struct{ off, end int64 }

func (r bootRecord) encode() []byte {
	return appendInts(appendText(appendText([]byte{kindBoot}, r.nonce), r.device), r.wall, r.after)
}

func (r clockRecord) encode() []byte {
	return appendInts(appendText([]byte{kindClock}, r.nonce), r.zero, r.seen)
}

func (e *entry) record() []byte {
	timed := int64(0)
	if e.timed {
		timed = 1
	}
	return append(appendInts(appendText([]byte{kindReading}, e.boot.nonce), int64(e.seq), timed, e.at), e.body...)
}

func (p place) encode() []byte { return appendInts([]byte{kindPast}, p.off, p.end) }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendInts(b []byte, ints ...int64) []byte {
	for _, i := range ints {
		b = binary.AppendVarint(b, i)
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a record.
func appendFrame(b, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	return append(b, payload...)
}

// unframe returns the payload of the record at the start of b, or false if there is none.
func unframe(b []byte) ([]byte, bool) {
	if len(b) < frame {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > maxPayload || int(n) > len(b)-frame {
		return nil, false
	}
	payload := b[frame : frame+int(n)]
	return payload, crc32.Checksum(payload, castagnoli) == binary.LittleEndian.Uint32(b[4:])
}

var errRecord = errors.New("not a record")

// decode parses a payload into a bootRecord, clockRecord, readingRecord or place.
func decode(payload []byte) (any, error) {
	if len(payload) == 0 {
		return nil, errRecord
	}
	f := fields{rest: payload[1:]}
	var r any
	switch payload[0] {
	case kindBoot:
		r = bootRecord{nonce: f.text(), device: f.text(), wall: f.int(), after: f.int()}
	case kindClock:
		r = clockRecord{nonce: f.text(), zero: f.int(), seen: f.int()}
	case kindReading:
		reading := readingRecord{nonce: f.text(), seq: uint64(f.int())}
		reading.timed, reading.at = f.int() != 0, f.int()
		reading.body, f.rest = f.rest, nil
		r = reading
		f.bad = f.bad || len(reading.body) < 2 || reading.body[0] != '{' || reading.seq > math.MaxInt64
	case kindPast:
		r = place{f.int(), f.int()}
	default:
		return nil, errRecord
	}
	if f.bad || len(f.rest) > 0 {
		return nil, errRecord
	}
	return r, nil
}

// fields reads what appendText and appendInts wrote.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) int() int64 {
	i, n := binary.Varint(f.rest)
	if n <= 0 {
		f.bad, f.rest = true, nil
		return 0
	}
	f.rest = f.rest[n:]
	return i
}

func (f *fields) text() string {
	length, n := binary.Uvarint(f.rest)
	if n <= 0 || length > uint64(len(f.rest)-n) {
		f.bad, f.rest = true, nil
		return ""
	}
	s := string(f.rest[n : n+int(length)])
	f.rest = f.rest[n+int(length):]
	return s
}

// unixNano is t in records; 0 means unknown.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromUnixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
