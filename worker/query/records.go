package query

import (
	"context"
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Records returns the records of the devices with these IDs, in the order of the IDs and
// without their tokens, except for devices that were removed. A limit of zero means all.
func (f Devices) Records(ctx context.Context, ids tables.Keys, limit int) iter.Seq2[schema.Device, error] {
	in := func(d *schema.Device) (bool, error) { return !d.Status.Left(), nil }
	return Limited(selected(f.records(ctx, ids, limit), in), limit)
}

// AllRecords returns also those of devices that were removed.
func (f Devices) AllRecords(ctx context.Context, ids tables.Keys, limit int) iter.Seq2[schema.Device, error] {
	return Limited(f.records(ctx, ids, limit), limit)
}

func (f Devices) records(ctx context.Context, ids tables.Keys, size int) iter.Seq2[schema.Device, error] {
	q := tables.Query{Range: tables.Range{Partitions: ids}, Size: size, Select: schema.DeviceSummary()}
	return recordsOf(ctx, f.devices(), q, schema.DeviceOf)
}

// Record returns the record of a device; false where it has none.
func (f Devices) Record(ctx context.Context, id schema.DeviceID) (schema.Device, bool, error) {
	d, found, err := get(ctx, f.devices(), string(id), schema.DeviceRow, schema.DeviceOf)
	return d, found && d.Status != schema.Erased, err
}

// Policies returns the stored access policies of a readings table; false where it has none yet.
func (f Devices) Policies(ctx context.Context, readings string) (schema.Policies, bool, error) {
	return get(ctx, f.Tables.Table(f.Names.Policies()), readings, schema.PoliciesRow, schema.PoliciesOf)
}

// get returns the record of one row; false where the row does not exist.
func get[R any](
	ctx context.Context, t *tables.Table, pk, rk string, of func(tables.Entity) (R, error),
) (r R, found bool, err error) {
	e, err := t.Get(ctx, pk, rk)
	if tables.Absent(err) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	if r, err = of(e); err != nil {
		return r, false, &schema.UnreadableError{
			Table: t.Name, PartitionKey: pk, RowKey: rk, Err: err}
	}
	return r, true, nil
}

// StatusChanges returns the changes of devices' status that are in progress.
func (f Devices) StatusChanges(ctx context.Context) iter.Seq2[schema.Change, error] {
	policies := f.Tables.Table(f.Names.Policies())
	return func(yield func(schema.Change, error) bool) {
		for p, err := range recordsOf(ctx, policies, tables.Query{Size: 100}, schema.PoliciesOf) {
			if err != nil && !yield(schema.Change{}, err) {
				return
			}
			for _, c := range p.Changes {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// Pipelines returns the pipelines that have tracking rows.
func (f Progress) Pipelines(ctx context.Context) (all []schema.Pipeline, err error) {
	names, err := f.Tables.Tables(ctx)
	for _, name := range names {
		if p, is := f.Names.PipelineOf(name); is {
			all = append(all, p)
		}
	}
	return all, err
}

// Track returns a pipeline's tracking row of a member; false where it has none yet.
func (f Progress) Track(ctx context.Context, p schema.Pipeline, m schema.Member) (schema.Track, bool, error) {
	return get(ctx, f.Tables.Table(f.Names.Partitions(p)), m.Month.String(), string(m.Key()), schema.TrackOf)
}

// Waiting returns the time of a member's oldest reading after a checkpoint, and not below its watermark; zero where
// there is none.
func (f Progress) Waiting(ctx context.Context, m schema.Member, checkpoint string) (tables.Ticks, error) {
	keys := tables.Keys{After: checkpoint, To: tables.TicksOf(time.Now()).String()}
	if from := m.Watermark.String(); m.Watermark > 0 && checkpoint < from {
		keys.From, keys.After = from, ""
	}
	in := tables.Partition(string(m.Device))
	for _, in.Rows = range m.Spans.Within(keys) {
		if e, found, err := first(ctx, f.Tables.Table(m.Readings), in); found || err != nil {
			return TimeOf(e.RowKey), err
		}
	}
	return 0, nil
}

// Failing yields the tracking rows of the selected devices that fail in a pipeline, of one
// month or, for the zero Month, of all. Storage scans every tracking row, but sends only
// these.
func (f Progress) Failing(
	ctx context.Context, p schema.Pipeline, in schema.Month, s DeviceSelector,
) iter.Seq2[schema.Track, error] {
	q := tables.Query{Filter: schema.TracksFailing(), Select: schema.TrackProperties(),
		Range: tables.Range{Rows: s.memberships()}}
	if in != (schema.Month{}) {
		q.Range.Partitions = tables.Is(in.String())
	}
	all := recordsOf(ctx, f.Tables.Table(f.Names.Partitions(p)), q, schema.TrackOf)
	return selected(all, func(t *schema.Track) (bool, error) { return s.selects(t.Place.Device()), nil })
}
