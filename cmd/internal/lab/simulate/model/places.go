package model

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// A Place is a town or a region.
type Place struct {
	Slug      string // letters, digits and dashes
	Name      string
	Country   string // ISO 3166-1, two letters
	Continent string
	Lat, Lon  float64 // degrees
	Height    float64 // metres above the sea
	Coast     bool    // milder days and years
}

//go:embed places.txt
var places string

// Places returns places on all continents.
func Places() []Place {
	var all []Place
	for line := range strings.Lines(places) {
		if line[0] == '#' {
			continue
		}
		p, err := parsePlace(strings.TrimSpace(line))
		if err != nil {
			panic("places.txt: " + err.Error()) // tests read it
		}
		all = append(all, p)
	}
	return all
}

func parsePlace(line string) (p Place, err error) {
	f := strings.Split(line, "\t")
	if len(f) != 8 {
		return p, fmt.Errorf("%q has %d fields, not 8", line, len(f))
	}
	p = Place{Slug: f[0], Name: f[1], Country: f[2], Continent: f[3], Coast: f[7] == "coast"}
	for i, to := range []*float64{&p.Lat, &p.Lon, &p.Height} {
		if *to, err = strconv.ParseFloat(f[4+i], 64); err != nil {
			return p, fmt.Errorf("%q: %w", line, err)
		}
	}
	return p, nil
}
