package sas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// NoteImport stores a note of an import on the memberships of a registered device: before its first row is written,
// whenever its lease is to be extended, and when it has ended. The result is the note for the next call.
func (r Registry) NoteImport(
	ctx context.Context, d schema.Device, note schema.Import, ended bool,
) (schema.Import, error) {
	for range tries {
		all, now, err := r.memberships(ctx, d)
		if err != nil {
			return note, err
		}
		for _, m := range all {
			parts := m.Spans.Within(tables.Keys{From: note.From.String(), Before: note.To.String()})
			if len(parts) > 0 && parts[0].From < m.Watermark.String() && !ended && !note.Late {
				return note, refused("retention may have deleted its rows before %s, and nothing folds rows there any more: "+
					"leave those out of the import, which begins at %s",
					m.Watermark.Time().Format(time.DateOnly), note.From.Time().Format(time.RFC3339))
			}
		}
		for _, m := range all {
			note = renewed(m.Imports, note, now)
		}
		note.Until = 0
		if !ended {
			note.Until = now.Add(schema.ImportLease)
		}
		var ops []tables.Op
		for _, m := range all {
			e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
			if err := m.Imports.With(note, now).Set(&e); err != nil {
				return note, err
			}
			ops = append(ops, tables.Merge(e, m.ETag))
		}
		if _, err = r.Fleet.Submit(ctx, ops); !errors.Is(err, tables.ErrConflict) {
			return note, err
		}
	}
	return note, fmt.Errorf("device %s: its fleet row: %w", d.ID, tables.ErrConflict)
}

// renewed returns a note with an ID that no pipeline knows. A stored note whose lease has ended may be known.
func renewed(stored schema.Imports, note schema.Import, now tables.Ticks) schema.Import {
	for _, i := range stored {
		if i.ID == note.ID && i.Until > now {
			return note
		}
	}
	note.ID = max(note.ID, now)
	if n := len(stored); n > 0 {
		note.ID = max(note.ID, stored[n-1].ID+1)
	}
	return note
}

// memberOf reads the membership of a device for a tenant, and the time of the service, also if there is none.
func (r Registry) memberOf(ctx context.Context, d schema.Device, t schema.Tenant) (schema.Member, tables.Ticks, error) {
	at := schema.Member{Month: d.Month, Tenant: t, Device: d.ID}.Place()
	now := tables.Ticks(0)
	for page, err := range r.Fleet.Rows(ctx, tables.Query{Range: schema.Between(at, at)}) {
		if err != nil {
			return schema.Member{}, 0, err
		}
		now = tables.TicksOf(page.Time)
		if len(page.Rows) > 0 {
			m, err := schema.MemberOf(page.Rows[0])
			return m, now, err
		}
	}
	return schema.Member{}, now, fmt.Errorf("device %s: its fleet row: %w: it has been removed meanwhile", d.ID,
		tables.ErrNotFound)
}
