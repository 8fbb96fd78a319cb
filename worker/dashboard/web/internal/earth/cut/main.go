// Command cut makes the base map's outlines and names of places: see package earth.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	from := flag.String("from", "", "countries-50m.json of world-atlas")
	to := flag.String("to", "worker/dashboard/web/static/world.bin", "where the outlines go; places.json is beside")
	cities := flag.String("cities", "", "naturalearth_cities of geopandas, without an extension")
	flag.Parse()
	if err := run(*from, *cities, *to); err != nil {
		fmt.Fprintln(os.Stderr, "cut:", err)
		os.Exit(1)
	}
}

func run(from, cities, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	t, err := parse(b)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	o := outlines(t)
	b = o.Encode()
	points := 0
	for _, l := range append(o.Land, o.Borders...) {
		points += len(l)
	}
	fmt.Printf("%d rings, %d borders, %d points, %d bytes\n", len(o.Land), len(o.Borders), points, len(b))
	named, err := cityPlaces(cities)
	if err != nil {
		return fmt.Errorf("%s: %w", cities, err)
	}
	if err := writePlaces(filepath.Join(filepath.Dir(to), "places.json"), countryPlaces(t), named); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o666)
}
