package earth

import (
	"encoding/binary"
	"math"
	"os"
	"testing"

	"furrow/tables/azuretest/must"
)

func TestProjectStaysWithinTheWorld(t *testing.T) {
	for lon := -180.0; lon <= 180; lon += 7.5 {
		for lat := -90.0; lat <= 90; lat += 7.5 {
			if x, y := Project(lon, lat); math.Abs(x) > Width/2+1e-9 || math.Abs(y) > Height/2+1e-9 {
				t.Errorf("%g, %g is at %g, %g", lon, lat, x, y)
			}
		}
	}
}

func TestAreasAreEqual(t *testing.T) {
	for lat := -85.0; lat <= 85; lat += 5 {
		const step = 1e-4
		x0, y0 := Project(-step, lat)
		x1, _ := Project(step, lat)
		_, y1 := Project(0, lat+step)
		area := (x1 - x0) * (y1 - y0)
		want := 2 * step * step * radian * radian * math.Cos(lat*radian)
		if math.Abs(area/want-1) > 1e-3 {
			t.Errorf("at %g the area is %.6f of what it should be", lat, area/want)
		}
	}
}

// encoded is the inverse of Decode.
func (o Outlines) encoded() []byte {
	var b []byte
	var from [2]int32
	for _, lines := range [][]Line{o.Land, o.Borders} {
		b = binary.AppendUvarint(b, uint64(len(lines)))
		for _, l := range lines {
			b = binary.AppendUvarint(b, uint64(len(l)))
			at := from
			for i, p := range l {
				b = binary.AppendVarint(b, int64(p[0]-at[0]))
				b = binary.AppendVarint(b, int64(p[1]-at[1]))
				if at = p; i == 0 {
					from = p
				}
			}
		}
	}
	return b
}

func TestOutlinesComeBack(t *testing.T) {
	b := must.Have(os.ReadFile("../../static/world.bin"))(t)
	o := must.Have(Decode(b))(t)
	if string(o.encoded()) != string(b) {
		t.Error("the outlines differ after encoding them again")
	}
	points := 0
	for _, l := range append(o.Land, o.Borders...) {
		points += len(l)
		for _, p := range l {
			if p[0] < -180*Grain || p[0] > 180*Grain || p[1] < -90*Grain || p[1] > 90*Grain {
				t.Fatalf("a point at %v", p)
			}
		}
	}
	if len(o.Land) < 500 || points < 10000 {
		t.Errorf("%d rings and %d points are too few", len(o.Land), points)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Outlines{Land: []Line{{{0, 0}, {100, 0}, {100, 100}}}, Borders: []Line{{{1, 2}, {3, 4}}}}.encoded())
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(o.encoded())
		if err != nil || len(again.Land) != len(o.Land) || len(again.Borders) != len(o.Borders) {
			t.Errorf("%v: %d rings, and %d", err, len(again.Land), len(o.Land))
		}
	})
}
