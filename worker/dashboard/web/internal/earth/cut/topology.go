package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/paulmach/orb"
)

// A topology is the part of TopoJSON that is needed: lines, and the rings that share them.
type topology struct {
	lines   []orb.LineString
	land    [][]int // rings of lines; ^i is line i backwards
	borders []int   // lines that two countries share

	countries []country // the largest first
}

type country struct {
	name   string
	middle orb.Point // of its largest part
	area   float64
}

type geometry struct {
	Type       string
	Arcs       json.RawMessage
	Geometries []geometry
	Properties struct{ Name string }
}

func parse(b []byte) (topology, error) {
	var file struct {
		Arcs      [][][2]float64
		Transform struct{ Scale, Translate [2]float64 }
		Objects   struct{ Countries, Land geometry }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return topology{}, err
	}
	var t topology
	for _, arc := range file.Arcs {
		var at [2]float64
		line := make(orb.LineString, len(arc))
		for i, step := range arc {
			for axis := range at {
				at[axis] += step[axis]
				line[i][axis] = at[axis]*file.Transform.Scale[axis] + file.Transform.Translate[axis]
			}
		}
		t.lines = append(t.lines, line)
	}
	land, err := file.Objects.Land.rings()
	if err != nil {
		return t, err
	}
	t.land = land
	countries, err := file.Objects.Countries.rings()
	if err != nil {
		return t, err
	}
	shared := make([]int, len(t.lines))
	for _, ring := range append(countries, land...) {
		for _, i := range ring {
			if max(i, ^i) >= len(t.lines) {
				return t, fmt.Errorf("line %d of %d does not exist", max(i, ^i), len(t.lines))
			}
		}
	}
	for _, ring := range countries {
		for _, i := range ring {
			if shared[max(i, ^i)]++; shared[max(i, ^i)] == 2 {
				t.borders = append(t.borders, max(i, ^i))
			}
		}
	}
	for _, g := range file.Objects.Countries.Geometries {
		rings, err := g.rings()
		if err != nil {
			return t, err
		}
		middle, area := largest(t.lines, rings)
		t.countries = append(t.countries, country{g.Properties.Name, middle, area})
	}
	slices.SortFunc(t.countries, func(a, b country) int {
		return cmp.Or(cmp.Compare(b.area, a.area), cmp.Compare(a.name, b.name))
	})
	if len(t.land) == 0 || len(t.borders) == 0 {
		return t, errors.New("no land or no borders: use the file of countries")
	}
	return t, nil
}

func (g geometry) rings() ([][]int, error) {
	var rings [][]int
	var polygons [][][]int
	var err error
	switch g.Type {
	case "Polygon":
		err = json.Unmarshal(g.Arcs, &rings)
	case "MultiPolygon":
		err = json.Unmarshal(g.Arcs, &polygons)
	}
	for _, p := range polygons {
		rings = append(rings, p...)
	}
	for _, part := range g.Geometries {
		more, bad := part.rings()
		if bad != nil {
			return nil, bad
		}
		rings = append(rings, more...)
	}
	return rings, err
}
