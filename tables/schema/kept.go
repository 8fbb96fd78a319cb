package schema

import (
	"cmp"
	"fmt"
	"slices"

	"furrow/tables"
)

// Kept is what the record of a device keeps of its memberships after it has left the fleet: when it belonged to which
// tenant, and where it was. It gets them back if it registers again.
type Kept struct {
	Members    []KeptMember
	Placements []Placement `row:"KeptPlacements,omitzero"` // the last one without an end
}

// A KeptMember is one membership.
type KeptMember struct {
	Tenant    Tenant       `json:"tenant"`
	Spans     Spans        `json:"spans,omitempty"`
	Next      Tenant       `json:"next,omitempty"`
	Watermark tables.Ticks `json:"watermark,omitzero"`
	Imports   Imports      `json:"imports,omitempty"`
}

// KeptOf returns what to keep of the memberships of a device.
func KeptOf(all []Member) (k Kept) {
	for _, m := range all {
		k.Members = append(k.Members, KeptMember{m.Tenant, m.Spans, m.Next, m.Watermark, m.Imports})
		if m.Next == "" {
			k.Placements = append(slices.Clone(m.Placements), Placement{Site: m.Site, Labels: m.Labels})
		}
	}
	return k
}

// keptProperty returns the property of a membership.
func keptProperty(i int) string { return fmt.Sprint("Kept", i) }

func (k Kept) set(e *tables.Entity) error {
	err := e.Encode(&k)
	for i, m := range k.Members {
		value, errMember := packed(m, 1)
		e.Set(keptProperty(i), value)
		err = cmp.Or(err, errMember)
	}
	return err
}

func (k *Kept) unpack(f *tables.Fields) {
	f.Decode(k)
	for i := 0; f.String(keptProperty(i)) != ""; i++ {
		k.Members = append(k.Members, KeptMember{})
		unpack(f, keptProperty(i), &k.Members[i])
	}
}

// Tenants returns the tenants of the memberships of d, the current one first.
func (d Device) Tenants() []Tenant {
	all := []Tenant{d.Tenant}
	for _, t := range d.Former {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// Of returns the membership of d for a tenant. Without those that are kept it is as that of a new device: for all time.
func (d Device) Of(t Tenant) Member {
	m := Member{Month: d.Month, Tenant: t, Device: d.ID, Readings: d.Readings, Enrollment: d.Enrollment, Site: d.Site,
		Labels: d.Labels, Model: d.Model, Revoked: d.Status == Revoked}
	i := slices.IndexFunc(d.Kept.Members, func(k KeptMember) bool { return k.Tenant == t })
	if i < 0 {
		return m
	}
	kept := d.Kept.Members[i]
	m.Spans, m.Next, m.Watermark, m.Imports = kept.Spans, kept.Next, kept.Watermark, kept.Imports
	if last := len(d.Kept.Placements) - 1; last >= 0 {
		m.Placements = d.Kept.Placements[:last]
		m.Site, m.Labels = d.Kept.Placements[last].Site, d.Kept.Placements[last].Labels
	}
	return m
}
