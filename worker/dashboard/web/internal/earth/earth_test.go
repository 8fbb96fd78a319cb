package earth

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// TestPlaceIsWhereProjectPutItFrom, at random and at the edges.
func TestPlaceIsWhereProjectPutItFrom(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 20000 {
		lon, lat := r.Float64()*360-180, r.Float64()*180-90
		if i < 9 {
			lon, lat = float64(i%3-1)*180, float64(i/3-1)*90
		}
		x, y := Project(lon, lat)
		if math.Abs(x) > Width/2+1e-9 || math.Abs(y) > Height/2+1e-9 {
			t.Fatalf("seed %d: %g, %g is outside of the world: %g, %g", seed, lon, lat, x, y)
		}
		backLon, backLat := Place(x, y)
		if math.Abs(backLon-lon) > 1e-6 || math.Abs(backLat-lat) > 1e-6 {
			t.Fatalf("seed %d: %.9f, %.9f came back as %.9f, %.9f", seed, lon, lat, backLon, backLat)
		}
	}
}

// TestAreasAreEqual is what the projection is named after.
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

func TestOutlinesComeBack(t *testing.T) {
	b, err := os.ReadFile("../../static/world.bin")
	if err != nil {
		t.Fatal(err)
	}
	o, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if string(o.Encode()) != string(b) {
		t.Error("the outlines are another when they are encoded again")
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
		t.Errorf("%d rings, %d points: that is not the world", len(o.Land), points)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Outlines{Land: []Line{{{0, 0}, {100, 0}, {100, 100}}}, Borders: []Line{{{1, 2}, {3, 4}}}}.Encode())
	f.Add([]byte{})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(o.Encode())
		if err != nil || len(again.Land) != len(o.Land) || len(again.Borders) != len(o.Borders) {
			t.Errorf("%v: %d rings, and %d", err, len(again.Land), len(o.Land))
		}
	})
}
