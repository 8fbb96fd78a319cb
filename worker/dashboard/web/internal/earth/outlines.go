package earth

import (
	"encoding/binary"
	"errors"
	"math"
)

// Outlines are land and borders.
type Outlines struct {
	Land    []Line // rings that do not repeat their first point; a ring within a ring is a hole
	Borders []Line
}

// A Line is points of longitude and latitude, in degrees times Grain.
type Line [][2]int32

// Grain is the resolution of outlines: steps per degree.
const Grain = 100

var errCut = errors.New("outlines: invalid or truncated")

// Decode decodes outlines from varints: the number of rings, then for each ring the number of points, then for each
// point the zigzag-encoded difference to the previous one, east and north; then the borders in the same way. The
// first point of a line is relative to the first point of the previous line.
func Decode(b []byte) (Outlines, error) {
	d := decoder{b: b}
	o := Outlines{Land: d.lines(), Borders: d.lines()}
	if d.bad || len(d.b) > 0 {
		return Outlines{}, errCut
	}
	return o, nil
}

type decoder struct {
	b    []byte
	from [2]int32
	bad  bool
}

func (d *decoder) lines() []Line {
	var all []Line
	for range d.count() {
		l := make(Line, 0, d.count())
		at := d.from
		for i := range cap(l) {
			at[0] += d.step()
			at[1] += d.step()
			if l = append(l, at); i == 0 {
				d.from = at
			}
		}
		all = append(all, l)
	}
	return all
}

// count reads the number of following elements, which take at least a byte each.
func (d *decoder) count() int {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > uint64(len(d.b)-size) {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

func (d *decoder) step() int32 {
	n, size := binary.Varint(d.b)
	if size <= 0 || n < -math.MaxInt16*2 || n > math.MaxInt16*2 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return int32(n)
}
