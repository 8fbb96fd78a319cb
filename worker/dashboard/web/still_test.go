package web

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/worker/dashboard/model"
)

// wellFormed reads text as XML to its end.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in %.300s", err, text)
		}
	}
}

func TestStillBaseMapIsSmallAndWellFormed(t *testing.T) {
	s := must.Have(newStatic())(t)
	ground := s.files["world.svg"]
	wellFormed(t, string(ground))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(ground)
	z.Close()
	if packed.Len() > 95<<10 {
		t.Errorf("the base map has %d bytes compressed", packed.Len())
	}
}

// TestStillMarksAreLinksOnTheBaseMap has one group of devices and one device.
func TestStillMarksAreLinksOnTheBaseMap(t *testing.T) {
	if x, y := stillPoint(0, 0); math.Abs(x-600) > 0.01 || math.Abs(y-292) > 1 {
		t.Errorf("0, 0 is at %.2f, %.2f", x, y)
	}
	p := MapPage{Map: model.Map{Sensor: "t", Scale: &[2]float64{0, 10},
		Clusters: []model.Cluster{{N: 7, Lat: 1, Lon: 2, Mean: new(9.5), BBox: model.Box{1, 0, 3, 2}}, {N: 2, Lat: 91}},
		Devices:  []model.Dot{{Device: "a&b", Value: 3.0, State: model.Held}, {Device: "c", State: "unknown"}}}}
	marks := p.Still()
	if len(marks) != 3 {
		t.Fatalf("the marks are %+v", marks)
	}
	group, held, other := marks[0], marks[1], marks[2]
	if group.Class != "c9" || group.Title != "7\u00a0devices, mean 9.5" ||
		!strings.Contains(group.Address, "bbox=1.00000") {
		t.Errorf("the group is %+v", group)
	}
	if held.Class != "c3" || held.State != model.Held || held.Address != "/devices/a&b" ||
		math.Abs(held.X-591.818) > 1e-3 {
		t.Errorf("the held device is %+v", held)
	}
	if other.Class != "none" || other.State != model.OK {
		t.Errorf("the other device is %+v", other)
	}
}

// TestStillViewContainsItsBox includes a box that is a single point.
func TestStillViewContainsItsBox(t *testing.T) {
	for _, box := range []model.Box{{-10, 30, 40, 70}, {13.4, 52.5, 13.4, 52.5}, {-180, -90, 180, 90}} {
		v := stillView(box)
		for _, corner := range [][2]float64{{box[0], box[1]}, {box[2], box[3]}, {box[0], box[3]}} {
			if x, y := stillPoint(corner[0], corner[1]); x < v[0] || x > v[0]+v[2] || y < v[1] || y > v[1]+v[3] {
				t.Errorf("%v: a corner at %.1f, %.1f is outside of %v", box, x, y, v)
			}
		}
	}
}
