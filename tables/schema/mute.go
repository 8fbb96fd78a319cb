package schema

import (
	"maps"
	"slices"
	"strings"

	"furrow/tables"
)

// A Mute is a row of the table incidents: no notifications go out for the incidents that it matches.
type Mute struct {
	ID     string // random
	Tenant Tenant // empty: of all tenants
	Rule   Rule   // empty: all
	Site   Site   // empty: all
	Device string // ID, or the beginning of IDs and *; empty: all
	Labels map[string]string
	From   tables.Ticks
	Until  tables.Ticks
	Who    string
	Text   string // why
}

// Mutes returns the PartitionKey of a tenant's mutes, or of those for all tenants.
func Mutes(t Tenant) string { return t.Key() + Separator + "mutes" }

// Entity returns the row of m.
func (m Mute) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: Mutes(m.Tenant), RowKey: m.ID}
	for _, p := range []struct{ name, text string }{{"Tenant", string(m.Tenant)}, {"Rule", string(m.Rule)},
		{"Site", string(m.Site)}, {"Device", m.Device}, {"Who", m.Who}, {"Text", shortened(m.Text, maxNote)}} {
		setNonzero(&e, p.name, tables.String(p.text))
	}
	e.Set("From", tables.DateTime(m.From))
	e.Set("Until", tables.DateTime(m.Until))
	labels, err := packed(m.Labels, len(m.Labels))
	e.Set("Labels", labels)
	if err == nil {
		err = checkPart("ID of a mute", m.ID, maxSuffix)
	}
	return e, err
}

// MuteOf decodes a row of a mute.
func MuteOf(e tables.Entity) (Mute, error) {
	f := fieldsOf(&e)
	m := Mute{ID: e.RowKey, Tenant: Tenant(f.String("Tenant")), Rule: Rule(f.String("Rule")),
		Site: Site(f.String("Site")), Device: f.String("Device"), Who: f.String("Who"), Text: f.String("Text"),
		From: f.Ticks("From"), Until: f.Ticks("Until")}
	unpack(f, "Labels", &m.Labels)
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
