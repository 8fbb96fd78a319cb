package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
)

// A place is a name, a longitude and a latitude.
type place [3]any

func placeAt(name string, p orb.Point) place {
	hundredth := func(v float64) float64 { return math.Round(v*100) / 100 }
	return place{name, hundredth(p[0]), hundredth(p[1])}
}

// countryPlaces returns the countries, each in the middle of its largest part, the largest country first.
func countryPlaces(t topology) (all []place) {
	for _, c := range t.countries {
		all = append(all, placeAt(c.name, c.middle))
	}
	return all
}

// largest returns the middle of the largest of some rings, and its area in square degrees of the equator.
func largest(lines []orb.LineString, rings [][]int) (middle orb.Point, area float64) {
	for _, ring := range rings {
		p, a := planar.CentroidArea(orb.Ring(unroll(join(lines, ring))))
		if a = math.Abs(a) * math.Cos(p[1]*math.Pi/180); a > area {
			middle, area = p, a
		}
	}
	return middle, area
}

// cityPlaces reads the cities of a shapefile of points, whose path has no extension, and the names beside it:
// the greatest first.
func cityPlaces(path string) (all []place, err error) {
	shapes, err := os.ReadFile(path + ".shp")
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile(path + ".dbf")
	if err != nil {
		return nil, err
	}
	const shapeHeader, shape, tableHeader, field = 100, 28, 32, 32 // bytes
	if len(table) < tableHeader+field {
		return nil, errors.New("the table has no field")
	}
	first, record := int(binary.LittleEndian.Uint16(table[8:])), int(binary.LittleEndian.Uint16(table[10:]))
	width := int(table[tableHeader+16])
	for i := range (len(shapes) - shapeHeader) / shape {
		if len(table) < first+(i+1)*record {
			return nil, fmt.Errorf("the table ends before city %d", i)
		}
		name := string(bytes.TrimSpace(table[first+i*record+1:][:width]))
		var p orb.Point
		if _, err := binary.Decode(shapes[shapeHeader+i*shape+12:], binary.LittleEndian, &p); err != nil {
			return nil, err
		}
		all = append(all, placeAt(name, p))
	}
	slices.Reverse(all) // the file has the greatest last
	return all, nil
}

func writePlaces(to string, countries, cities []place) error {
	b, err := json.Marshal(map[string][]place{"countries": countries, "cities": cities})
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(b, '\n'), 0o666)
}
