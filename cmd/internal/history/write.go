package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// device registers a device and writes the readings that are not stored yet. It takes all batches, unless it fails.
func (r *running) device(ctx context.Context, d device, batches <-chan []reading) (err error) {
	record, err := r.register(ctx, d)
	if refused, is := errors.AsType[*sas.RefusedError](err); is {
		r.tally.skip(Problem{d.line, d.id, fmt.Sprintf("none of its %d rows is imported: %v", d.rows, refused)}, d.rows)
		for range batches {
		}
		return nil
	}
	if err != nil {
		return err
	}
	stored := r.stored(ctx, d)
	defer stored.stop()
	w := &writer{running: r, device: d, record: record}
	defer func() { err = errors.Join(err, w.end(ctx)) }()
	for batch := range batches {
		missing, err := stored.missing(batch)
		if err == nil {
			err = w.write(ctx, missing)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// register returns the record of the device, which a dry run need not store. The file says where a new device is; a
// registered one may have moved since.
func (r *running) register(ctx context.Context, d device) (schema.Device, error) {
	delivery := sas.Delivery{Device: d.id}
	known, err := r.Registry.Get(ctx, d.id)
	isNew := errors.Is(err, tables.ErrNotFound) || err == nil && known.Status.MayRegister()
	if err != nil && !isNew {
		return known, err
	}
	if isNew {
		delivery.Site, delivery.Position, delivery.Deployed = d.place.site, d.place.position, d.from.Time()
	}
	var outcome sas.Outcome
	if r.DryRun {
		outcome, err = r.Registry.WouldImport(ctx, r.Enrollment, delivery)
	} else {
		known, outcome, err = r.Registry.Import(ctx, r.Enrollment, delivery)
	}
	if err == nil && outcome == sas.Added {
		r.tally.added.Add(1)
	}
	return known, err
}

// A writer writes the readings of one device.
type writer struct {
	*running
	device device
	record schema.Device
	note   schema.Import
	noted  time.Time // when the lease of the note began, at the latest; zero: nothing is written yet
}

// write writes readings in transactions.
func (w *writer) write(ctx context.Context, batch []reading) error {
	if w.DryRun {
		w.tally.written.Add(int64(len(batch)))
		return nil
	}
	if len(batch) == 0 {
		return nil
	}
	ops := make([]tables.Op, len(batch))
	for i, r := range batch {
		ops[i] = tables.InsertOrReplace(r.Entity())
	}
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := w.submit(ctx, g, batch[0].Key.Ticks); err != nil {
			return err
		}
		w.tally.written.Add(int64(len(g)))
	}
	return nil
}

// submit writes a transaction within the lease of the note. The first one begins the note.
func (w *writer) submit(ctx context.Context, ops []tables.Op, from tables.Ticks) (err error) {
	if time.Since(w.noted) > sas.ImportLease/3 {
		if w.noted.IsZero() {
			w.note = schema.Import{From: from, To: w.device.to + 1}
		}
		began := time.Now()
		if w.note, err = w.Registry.NoteImport(ctx, w.record, w.note, false); err != nil {
			return err
		}
		w.noted = began
	}
	ctx, cancel := context.WithDeadline(ctx, w.noted.Add(sas.ImportLease))
	defer cancel()
	if len(ops) == 1 {
		_, err = w.Readings.Do(ctx, ops[0])
	} else {
		_, err = w.Readings.Submit(ctx, ops)
	}
	return err
}

// end ends the note, also of an import that fails, so that what it has written is folded at once.
func (w *writer) end(ctx context.Context) error {
	if w.noted.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err := w.Registry.NoteImport(ctx, w.record, w.note, true)
	return err
}

// A storedKeys reads the keys of the rows that are stored, in order.
type storedKeys struct {
	next func() (tables.Page, error, bool)
	stop func()
	rows []tables.Entity
	done bool
}

// stored reads the keys of a device from its first row in the file to its last one.
func (r *running) stored(ctx context.Context, d device) *storedKeys {
	s := &storedKeys{}
	s.next, s.stop = iter.Pull2(r.Readings.Rows(ctx, tables.Query{Select: []string{"RowKey"}, Range: tables.Range{
		Partitions: tables.Is(string(d.id)), Rows: tables.Keys{From: d.from.String(), Before: (d.to + 1).String()}}}))
	return s
}

// missing returns the readings that are not stored. They must come in the order of their keys.
func (s *storedKeys) missing(batch []reading) (missing []reading, err error) {
	for _, r := range batch {
		key := r.Key.String()
		for !s.done && (len(s.rows) == 0 || s.rows[0].RowKey < key) {
			if len(s.rows) > 0 {
				s.rows = s.rows[1:]
				continue
			}
			page, err, more := s.next()
			if err != nil {
				return nil, err
			}
			s.rows, s.done = page.Rows, !more
		}
		if len(s.rows) == 0 || s.rows[0].RowKey != key {
			missing = append(missing, r)
		}
	}
	return missing, nil
}
