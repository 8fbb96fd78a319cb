package sas

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A PastWriter inserts rows of a device's past, wherever the checkpoints of pipelines are, and has all of them fold
// these rows: a note on the device's memberships is stored before the first one, and ends after the last one. If its
// process is killed, the note ends with its lease. It is not safe for concurrent use.
type PastWriter struct {
	registry Registry
	device   schema.Device
	readings *tables.Table
	note     schema.Import
	noted    time.Time // when the lease of the note began, at the latest; zero: nothing is written yet
	unsure   bool      // storage may still be inserting rows: it has not answered that it has
}

// WritePast begins to write rows of [note.From, note.To).
func (r Registry) WritePast(d schema.Device, readings *tables.Table, note schema.Import) *PastWriter {
	return &PastWriter{registry: r, device: d, readings: readings, note: note}
}

// Insert inserts rows in a transaction, within the lease of the note. None of them may be stored: otherwise the error
// wraps tables.ErrExists, and none is inserted. After any other error, nothing may be inserted any more.
func (w *PastWriter) Insert(ctx context.Context, ops []tables.Op) (err error) {
	if time.Since(w.noted) > schema.ImportLease/3 {
		began := time.Now()
		if w.note, err = w.registry.NoteImport(ctx, w.device, w.note, false); err != nil {
			return err
		}
		w.noted = began
	}
	ctx, cancel := context.WithDeadline(ctx, w.noted.Add(schema.ImportLease))
	defer cancel()
	_, err = w.readings.Submit(ctx, ops)
	w.unsure = err != nil && !errors.Is(err, tables.ErrExists)
	return err
}

// End ends the note, also after an error and when ctx has ended, so that what is written is folded at once. Where
// storage may still be inserting rows, which would come behind the checkpoints, the note ends with its lease.
func (w *PastWriter) End(ctx context.Context) error {
	if w.noted.IsZero() || w.unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err := w.registry.NoteImport(ctx, w.device, w.note, true)
	return err
}
