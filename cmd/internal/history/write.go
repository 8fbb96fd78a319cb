package history

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furrow/jobs/fold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// device registers a device and writes the readings that are not stored yet. It takes all batches, unless it fails.
func (r *running) device(ctx context.Context, d device, batches <-chan []reading) (err error) {
	defer func() {
		if refused, is := errors.AsType[*sas.RefusedError](err); is {
			err = nil
			r.tally.skip(Problem{d.line, d.id, fmt.Sprintf("none of its %d rows is imported: %v", d.rows, refused)}, d.rows)
			for batch := range batches {
				r.tally.refused.Add(int64(len(batch)))
			}
		}
	}()
	record, err := r.register(ctx, d)
	if err != nil {
		return err
	}
	stored := r.storedBetween(ctx, record, d.from, d.to)
	defer stored.stop()
	w := &writer{running: r, device: d, record: record}
	defer func() {
		if w.past != nil {
			err = errors.Join(err, w.past.End(ctx))
		}
	}()
	for batch := range batches {
		missing, err := stored.missing(batch)
		if err == nil {
			err = w.write(ctx, missing)
		}
		if err != nil {
			r.tally.refused.Add(int64(len(missing)))
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
		r.tally.register(d.id)
	}
	return known, err
}

// A writer writes the readings of one device.
type writer struct {
	*running
	device device
	record schema.Device
	past   *sas.PastWriter // nil: nothing is written yet
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
		ops[i] = tables.Insert(r.Entity())
	}
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		n := len(g)
		if err := w.insert(ctx, batch[:n], g); err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// insert writes readings in a transaction. Where some have been stored meanwhile, by the device or by an attempt whose
// answer was lost, it writes the others.
func (w *writer) insert(ctx context.Context, some []reading, ops []tables.Op) error {
	if w.past == nil {
		w.past = w.Registry.WritePast(w.record, w.Readings, schema.Import{From: some[0].Key.Ticks, To: w.device.to + 1})
	}
	err := w.past.Insert(ctx, ops)
	if err == nil {
		w.tally.written.Add(int64(len(some)))
	}
	if !errors.Is(err, tables.ErrExists) {
		return err
	}
	stored := w.storedBetween(ctx, w.record, some[0].Key.Ticks, some[len(some)-1].Key.Ticks)
	defer stored.stop()
	rest, err := stored.missing(some)
	if err != nil || len(rest) == 0 {
		return err
	}
	if len(rest) == len(some) {
		return fmt.Errorf("storage refuses rows from %s on because they exist, but returns none of them", some[0].Key)
	}
	return w.write(ctx, rest)
}

// storedRows reads the rows of a device that are stored, in order.
type storedRows struct {
	device schema.DeviceID
	own    bool          // Furrow wrote the file
	model  *fold.Sensors // of the device; may be nil
	tally  *tally
	next   func() (tables.Page, error, bool)
	stop   func()
	rows   []tables.Entity
	done   bool
}

func (r *running) storedBetween(ctx context.Context, d schema.Device, from, to tables.Ticks) *storedRows {
	s := &storedRows{device: d.ID, own: r.in.HasKeys(), tally: r.tally}
	if r.Meant != nil {
		s.model = r.Meant(d.Member())
	}
	s.next, s.stop = iter.Pull2(r.Readings.Rows(ctx, tables.Query{Range: tables.Range{
		Partitions: tables.Is(string(d.ID)), Rows: tables.Keys{From: from.String(), Before: (to + 1).String()}}}))
	return s
}

// missing returns the readings that are not stored, which must come in the order of their keys. A row with the key of a
// reading and other values stays, and is reported.
func (s *storedRows) missing(batch []reading) (missing []reading, err error) {
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
		switch {
		case len(s.rows) == 0 || s.rows[0].RowKey != key:
			missing = append(missing, r)
		case sameValues(s.rows[0].Properties, r.Entity().Properties) || s.own && tells(r.Entity(), s.rows[0], s.model):
		default:
			s.tally.clash(s.device, r.line, s.rows[0], r.Properties)
		}
	}
	return missing, nil
}
