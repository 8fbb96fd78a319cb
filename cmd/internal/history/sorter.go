package history

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"math"
	"os"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A device is a device of the file: its rows, and what the newest lines say about it.
type device struct {
	id       schema.DeviceID
	from, to tables.Ticks // of its rows
	rows     int
	line     int // the first of its lines
	place    place
}

// A place is where a device is.
type place struct {
	line     int // that says so
	site     schema.Site
	position *schema.Position
}

// with returns what both say: of two lines the later one.
func (p place) with(o place) place {
	if o.line < p.line {
		p, o = o, p
	}
	p.line, p.site = o.line, cmp.Or(o.site, p.site)
	if o.position != nil {
		p.position = o.position
	}
	return p
}

// maxMemory is how many bytes of rows are sorted in memory. It is a variable of each sorter for tests.
const maxMemory = 64 << 20

// A sorter sorts rows by device, time and line. It writes sorted parts to a temporary file.
type sorter struct {
	most    int // bytes
	file    *os.File
	size    int64
	runs    []section
	rows    []byte // of the current part
	entries []entry
	devices map[schema.DeviceID]*device
}

// A section is a part of the temporary file.
type section struct{ at, size int64 }

// An entry is where the bytes of a row are.
type entry struct {
	device   *device
	at       tables.Ticks
	line     int
	from, to int
}

func newSorter(most int) (*sorter, error) {
	f, err := os.CreateTemp("", "furrow-import-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // so that nothing is left if this process is killed; where that is impossible, close does it
	return &sorter{most: most, file: f, devices: map[schema.DeviceID]*device{}}, nil
}

func (s *sorter) close() {
	_ = s.file.Close()
	_ = os.Remove(s.file.Name()) // usually gone already
}

// around is about what a row takes in memory besides its bytes, and a device.
const around = 48

// add adds a row, and what its line says about the place of the device.
func (s *sorter) add(id schema.DeviceID, r row, where place) error {
	d := s.devices[id]
	if d == nil {
		d = &device{id: id, from: r.at, line: r.line}
		s.devices[id] = d
	}
	d.from, d.to, d.rows, d.line = min(d.from, r.at), max(d.to, r.at), d.rows+1, min(d.line, r.line)
	if where.site != "" || where.position != nil {
		where.line = r.line
		d.place = d.place.with(where)
	}
	from := len(s.rows)
	s.rows = appendRow(s.rows, r)
	s.entries = append(s.entries, entry{d, r.at, r.line, from, len(s.rows)})
	if len(s.rows)+around*len(s.entries)+4*around*len(s.devices) < s.most {
		return nil
	}
	return s.spill()
}

// spill writes the rows in memory to the temporary file.
func (s *sorter) spill() error {
	if len(s.entries) == 0 {
		return nil
	}
	slices.SortFunc(s.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.device.id, b.device.id), cmp.Compare(a.at, b.at), cmp.Compare(a.line, b.line))
	})
	out := bufio.NewWriterSize(s.file, 1<<20)
	run := section{at: s.size}
	var last *device
	for _, e := range s.entries {
		if e.device != last {
			last = e.device
			s.write(out, appendDevice(nil, last))
		}
		s.write(out, s.rows[e.from:e.to])
	}
	run.size = s.size - run.at
	s.runs = append(s.runs, run)
	s.rows, s.entries = s.rows[:0], s.entries[:0]
	clear(s.devices)
	return out.Flush() // has the error of any write
}

// write writes a block with its length.
func (s *sorter) write(out *bufio.Writer, block []byte) {
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], uint64(len(block)))
	_, _ = out.Write(length[:n]) // Flush returns the error
	_, _ = out.Write(block)
	s.size += int64(n + len(block))
}

func appendDevice(b []byte, d *device) []byte {
	b = appendText(b, string(d.id))
	for _, n := range []uint64{uint64(d.from), uint64(d.to), uint64(d.rows), uint64(d.line), uint64(d.place.line)} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendText(b, string(d.place.site))
	if p := d.place.position; p != nil {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(p.Lat))
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(p.Lon))
	}
	return b
}

func (d *decoder) device() device {
	found := device{id: schema.DeviceID(d.text()), from: tables.Ticks(d.uint()), to: tables.Ticks(d.uint()),
		rows: int(d.uint()), line: int(d.uint()), place: place{line: int(d.uint())}}
	found.place.site = schema.Site(d.text())
	if len(d.b) > 0 {
		found.place.position = &schema.Position{Lat: d.float(), Lon: d.float()}
	}
	return found
}
