package schema

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"furrow/tables"
)

func TestPlacementIsThatOfItsTime(t *testing.T) {
	m := Member{Site: "a", Labels: map[string]string{"class": "x"}}
	m.Relocate("a", map[string]string{"class": "x"}, 10) // nothing has changed
	m.Relocate("b", map[string]string{"class": "x"}, 20)
	m.Relocate("b", nil, 30)
	m.Relocate("c", nil, 30) // within the resolution of the service's clock
	m.Relocate("", nil, 40)
	for at, want := range map[tables.Ticks]Placement{0: {Site: "a"}, 19: {Site: "a"}, 20: {Site: "b"}, 29: {Site: "b"},
		30: {Site: "c"}, 39: {Site: "c"}, 40: {}, 1e18: {}} {
		if at < 30 {
			want.Labels = map[string]string{"class": "x"}
		}
		if got := m.PlacementAt(at); got.Site != want.Site || !maps.Equal(got.Labels, want.Labels) {
			t.Errorf("at %d it was at %+v; want %+v", at, got, want)
		}
	}
	m.Watermark = 25
	m.Relocate("d", nil, 50)
	if first := m.Placements[0]; first.To != 30 {
		t.Errorf("below the watermark it still knows %+v", first)
	}
}

// TestPlacementsHaveABound changes a device so often, and with so many labels, that the oldest are forgotten.
func TestPlacementsHaveABound(t *testing.T) {
	m := Member{Month: Month{2026, 11, 0}, Tenant: "t", Device: "d", Readings: "readings"}
	const most = 2000
	for i := range tables.Ticks(most) {
		m.Relocate(Site(fmt.Sprint("site ", i)), map[string]string{"class": strings.Repeat("é", 64)}, 10*(i+1))
	}
	e, err := m.Entity()
	text := e.Get("Placements").Text()
	if err != nil || len(text) > 32<<10 || len(text) < 16<<10 {
		t.Fatalf("%d placements have %d bytes, %v", len(m.Placements), len(text), err)
	}
	if got := m.PlacementAt(10*most - 1).Site; got != Site(fmt.Sprint("site ", tables.Ticks(most-2))) {
		t.Errorf("the last one is %s", got)
	}
}
