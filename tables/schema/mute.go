package schema

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"furrow/tables"
)

// A Mute is a row of the table incidents: no notifications go out for the incidents that it matches.
type Mute struct {
	ID     string            // random
	Tenant Tenant            `row:"Tenant,omitzero"` // empty: of all tenants
	Rule   Rule              `row:"Rule,omitzero"`   // empty: all
	Site   Site              `row:"Site,omitzero"`   // empty: all
	Device string            `row:"Device,omitzero"` // ID, or the beginning of IDs and *; empty: all
	Labels map[string]string `row:"Labels,omitzero"`
	From   tables.Ticks      `row:"From"`
	Until  tables.Ticks      `row:"Until"`
	Who    string            `row:"Who,omitzero"`
	Text   string            `row:"Text,omitzero"` // why
}

// Mutes returns the PartitionKey of a tenant's mutes, or of those for all tenants.
func Mutes(t Tenant) string { return t.Key() + Separator + "mutes" }

// Entity returns the row of m.
func (m Mute) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: Mutes(m.Tenant), RowKey: m.ID}
	m.Text = shortened(m.Text)
	err := e.Encode(&m)
	return e, cmp.Or(checkPart("ID of a mute", m.ID, maxSuffix), err)
}

// MuteOf decodes a row of a mute.
func MuteOf(e tables.Entity) (Mute, error) {
	m := Mute{ID: e.RowKey}
	f := decode(&e, &m)
	return m, f.Err()
}

// Matches describes which incidents are muted.
func (m Mute) Matches() string {
	var all []string
	for _, p := range [][2]string{{"tenant", string(m.Tenant)}, {"rule", string(m.Rule)}, {"site", string(m.Site)},
		{"device", m.Device}} {
		if p[1] != "" {
			all = append(all, p[0]+" "+p[1])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		all = append(all, name+"="+m.Labels[name])
	}
	return strings.Join(all, ", ")
}

// Mutes reports whether the mute holds for a transition's incident at a time.
func (m Mute) Mutes(t Transition, at tables.Ticks) bool {
	for name, value := range m.Labels {
		if t.Labels[name] != value {
			return false
		}
	}
	prefix, is := strings.CutSuffix(m.Device, "*")
	return m.From <= at && at < m.Until && (m.Tenant == "" || m.Tenant == t.Home.Tenant) &&
		(m.Rule == "" || m.Rule == t.ID.Rule) && (m.Site == "" || m.Site == t.Site) &&
		(m.Device == "" || m.Device == string(t.ID.Device) || is && strings.HasPrefix(string(t.ID.Device), prefix))
}
