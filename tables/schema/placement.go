package schema

import (
	"maps"
	"slices"

	"furrow/tables"
)

// A Placement says where a device was, and with which labels, until a time. It follows the placement before it.
type Placement struct {
	Site   Site              `json:"site,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	To     tables.Ticks      `json:"to,omitzero"` // zero: until now
}

// maxPlacements bounds the bytes of the earlier placements of a device.
const maxPlacements = 24 << 10

// PlacementAt returns where the device was at a time. Before its oldest placement that is known it was there, too.
func (m Member) PlacementAt(at tables.Ticks) Placement {
	for _, p := range m.Placements {
		if at < p.To {
			return p
		}
	}
	return Placement{Site: m.Site, Labels: m.Labels}
}

// Relocate notes that the device is at a site and has labels from a time on. It forgets placements below the watermark,
// where nothing is folded again, and the oldest where there are too many.
func (m *Member) Relocate(site Site, labels map[string]string, at tables.Ticks) {
	if site == m.Site && maps.Equal(labels, m.Labels) {
		return
	}
	all := slices.DeleteFunc(slices.Clone(m.Placements), func(p Placement) bool { return p.To <= m.Watermark })
	if n := len(all); n == 0 || all[n-1].To < at {
		all = append(all, Placement{m.Site, m.Labels, at})
	}
	for size, i := 0, len(all)-1; i >= 0; i-- {
		if size += all[i].size(); size > maxPlacements {
			all = all[i+1:]
			break
		}
	}
	m.Placements, m.Site, m.Labels = all, site, labels
}

// size returns about how many bytes a placement takes.
func (p Placement) size() int {
	size := 60 + len(p.Site)
	for name, text := range p.Labels {
		size += 6 + len(name) + len(text)
	}
	return size
}
