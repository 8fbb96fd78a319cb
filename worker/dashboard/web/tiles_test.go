package web

import (
	"strings"
	"testing"
)

func TestTilesAllowTheirHostAlone(t *testing.T) {
	tiles, err := ParseTiles("https://tile.example:8443/{z}/{x}/{y}.png?key=a")
	if err != nil || !strings.Contains(tiles.policy(), "img-src 'self' https://tile.example:8443;") ||
		strings.Count(tiles.policy(), "https:") != 1 || tiles.credit() != "tile.example:8443" {
		t.Errorf("%+v, %v: %s", tiles, err, tiles.policy())
	}
	if osm, err := ParseTiles("https://tile.openstreetmap.org/{z}/{x}/{y}.png"); err != nil || osm.credit() !=
		"© OpenStreetMap contributors" {
		t.Errorf("%+v, %v", osm, err)
	}
	if none := (Tiles{}); none.policy() != Policy || none.credit() != "" {
		t.Errorf("without tiles: %s", none.policy())
	}
	for _, wrong := range []string{"", "https://tile.example/", "http://tile.example/{z}/{x}/{y}.png", "/{z}/{x}/{y}.png",
		"https://{s}.example/{z}/{x}/{y}.png", "https://a;b/{z}/{x}/{y}", "https://u:p@host/{z}/{x}/{y}",
		"javascript:{z}/{x}/{y}", "https://*.example/{z}/{x}/{y}"} {
		if tiles, err := ParseTiles(wrong); err == nil {
			t.Errorf("%q is accepted: %+v", wrong, tiles)
		}
	}
}
