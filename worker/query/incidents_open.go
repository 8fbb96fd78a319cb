package query

import (
	"context"
	"errors"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// openOfTenant yields the open incidents of a tenant. The index is a hint: each entry is checked, and deleted if its
// incident has closed. It passes over an incident whose rows are not written yet, or are being deleted.
func (f Incidents) openOfTenant(ctx context.Context, t schema.Tenant, s IncidentSelector) iter.Seq2[Incident, error] {
	return func(yield func(Incident, error) bool) {
		rows := f.rows(ctx, schema.OpenIncidents(t), s.rows(), s.Device)
		entries := decoded(f.table(), rows, whole(schema.TransitionOf))
		each(entries, yield, func(entry schema.Transition) bool {
			i, open, err := f.StillOpen(ctx, entry)
			return !open && (err == nil || errors.Is(err, ErrNoIncident)) || yield(i, err)
		})
	}
}

// StillOpen reads the incident of an entry of the index, and reports whether it is open. It removes the entry of one
// that has closed, and notes in the entry that it was acknowledged.
func (f Incidents) StillOpen(ctx context.Context, entry schema.Transition) (i Incident, open bool, err error) {
	if i, err = f.incidentAt(ctx, entry.Home, entry.ID); err != nil {
		return i, false, err
	}
	later := func(o schema.Transition) bool { return o.Number > entry.Number }
	if slices.ContainsFunc(i.Transitions, later) {
		return i, false, f.unindex(ctx, entry)
	}
	if i.State() == IncidentAcknowledged && !entry.Acknowledged {
		err = f.indexAcknowledged(ctx, entry)
	}
	return i, true, err
}

func (f Incidents) unindex(ctx context.Context, t schema.Transition) error {
	pk, rk := t.IndexRow()
	return f.doUnlessAbsent(ctx, tables.Delete(pk, rk, tables.AnyETag))
}

// indexAcknowledged notes in the index that an incident was acknowledged, unless it has closed meanwhile.
func (f Incidents) indexAcknowledged(ctx context.Context, t schema.Transition) error {
	e := tables.Entity{}
	e.PartitionKey, e.RowKey = t.IndexRow()
	e.Set("Acknowledged", tables.Boolean(true))
	return f.doUnlessAbsent(ctx, tables.Merge(e, tables.AnyETag))
}

func (f Incidents) doUnlessAbsent(ctx context.Context, o tables.Op) error {
	_, err := f.table().Do(ctx, o)
	if tables.Absent(err) {
		err = nil
	}
	return err
}

// An OpenIndex is what the index of open incidents has of a tenant, and who is not notified of them.
type OpenIndex struct {
	Open  []Incident // the newest first; without their other transitions and notes
	More  bool       // there are older ones
	Mutes []schema.Mute
}

// OpenIndex reads at most so many entries of a tenant's index of open incidents, a thousand per request, and its
// mutes, which lie beside them. Now and then an incident in it has just closed: see StillOpen.
func (f Incidents) OpenIndex(ctx context.Context, t schema.Tenant, most int) (x OpenIndex, err error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Keys{From: schema.Mutes(t), To: schema.OpenIncidents(t)}}}
	for e, err := range f.table().Entities(ctx, q) {
		if err != nil {
			return x, err
		}
		switch e.PartitionKey {
		case schema.Mutes(t):
			if m, err := schema.MuteOf(e); err == nil {
				x.Mutes = append(x.Mutes, m)
			}
		case schema.OpenIncidents(t):
			if x.More = len(x.Open) == most; x.More {
				return x, nil
			}
			if one, err := schema.TransitionOf(e); err == nil {
				x.Open = append(x.Open, Incident{Transition: one})
			}
		}
	}
	return x, nil
}

// MutesForAll reads the mutes that are not of one tenant.
func (f Incidents) MutesForAll(ctx context.Context) ([]schema.Mute, error) {
	return Collect(f.mutesOf(ctx, ""), new(Skipped))
}
