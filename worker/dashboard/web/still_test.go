package web

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"furrow/worker/dashboard/model"
	"io"
	"math"
	"strings"
	"testing"
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

func TestStillGroundIsSmallAndWellFormed(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	ground := s.files["world.svg"]
	wellFormed(t, string(ground))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(ground)
	z.Close()
	if packed.Len() > 95<<10 {
		t.Errorf("the still ground has %d bytes compressed", packed.Len())
	}
}

// TestStillMarksLieWhereTheGroundIs: Greenwich in the middle, and each mark a link.
func TestStillMarksLieWhereTheGroundIs(t *testing.T) {
	s, err := newStatic()
	if err != nil {
		t.Fatal(err)
	}
	if x, y := stillPoint(0, 0); math.Abs(x-600) > 0.01 || math.Abs(y-292) > 1 {
		t.Errorf("0, 0 is at %.2f, %.2f", x, y)
	}
	mean := 9.5
	w := MapPage{Map: model.Map{Sensor: "t", Scale: &[2]float64{0, 10},
		Clusters: []model.Cluster{{N: 7, Lat: 1, Lon: 2, Mean: &mean, Silent: 1, BBox: model.Box{1, 0, 3, 2}}},
		Devices: []model.Dot{{Device: "a&b", Value: 3.0, State: model.Held},
			{Device: "c", Value: nil, State: model.Silent}}}}
	got, err := s.still(w)
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	wellFormed(t, text)
	for _, part := range []string{`mark c9`, `7&nbsp;devices`, `href="/devices/a&amp;b"`, `c3 held`, `none silent`,
		`x="591.818"`, `bbox=1.00000`} {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", "&nbsp;"), part) {
			t.Errorf("the still map has no %s: %s", part, text)
		}
	}
}

// TestStillViewHoldsItsBox, also one over the 180th meridian, and never is nothing.
func TestStillViewHoldsItsBox(t *testing.T) {
	for _, box := range []model.Box{{-10, 30, 40, 70}, {13.4, 52.5, 13.4, 52.5}, {-180, -90, 180, 90}} {
		x, y, width, height := stillView(box)
		for _, corner := range [][2]float64{{box[0], box[1]}, {box[2], box[3]}, {box[0], box[3]}} {
			px, py := stillPoint(corner[0], corner[1])
			if px < x || px > x+width || py < y || py > y+height {
				t.Errorf("%v: a corner is at %.1f, %.1f, outside of %.1f, %.1f, %.1f, %.1f", box, px, py, x, y, width, height)
			}
		}
	}
}
