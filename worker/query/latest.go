package query

import (
	"context"
	"iter"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// Newest has the newest value of each sensor of a device.
type Newest struct {
	Device schema.DeviceID
	Values []latest.Value // in the order of the sensors
	Heard  tables.Ticks   // of its newest reading without values, if that is newer than all values; zero: none
	Last   tables.Ticks   // of its newest reading; zero: unknown, because some sensors alone were asked for
	Every  time.Duration  // stated interval of the device; zero: none, or unknown
	Model  *Model         // of the device; nil: unknown
	Part   int            // which of its rows has these values, from 1; zero: they are all that it has
}

// SilentSince returns since when the device is silent at a time by its stated interval; zero: it is not, or that is
// unknown.
func (n Newest) SilentSince(now time.Time) (since time.Time) {
	if due := n.Last.Time().Add(schema.Overdue * n.Every); n.Last > 0 && n.Every > 0 && due.Before(now) {
		since = due
	}
	return since
}

// Latest yields the newest values of the scope's devices, by tenant, month and device.
func (f Outputs) Latest(ctx context.Context, q Question) iter.Seq2[Newest, error] {
	newest := func(ctx context.Context, r read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[Newest, error] {
		s := Devices(f).selection(q, r.home)
		all := decoded(r.table, schema.Joined(rows, schema.LatestOutput), outputs(schema.ParseLatestRow, q.decoding().newest))
		return selected(all, func(n *Newest) (keep bool, err error) {
			n.Model, keep, err = s.selects(ctx, n.Device, n.Row)
			n.Part = 0
			n.Values = slices.DeleteFunc(n.Values, func(v latest.Value) bool { return !q.wants(v.Sensor) })
			return keep && (len(n.Values) > 0 || n.Heard > 0), err
		})
	}
	found := inOrder(ctx, sources(q.latestRanges(ctx, f.latest(), schema.LatestOfTenant), newest), q.searching())
	return Limited(afterSkipped(q.Scope, found), q.Limit)
}

func (q Question) newest(row schema.LatestRow, e tables.Entity, report report) (Newest, bool) {
	n := Newest{Device: row.Device, Heard: tables.Ticks(e.Get(fold.HeardProperty).Int()),
		Values: parsedSensors(q, e, report, latest.ParseValue), Part: max(1, row.Part)}
	if len(q.Sensors) == 0 {
		n.Last = n.newest()
	}
	return n, len(n.Values) > 0 || n.Heard > 0
}

// newest returns the time of the newest reading that is known.
func (n Newest) newest() tables.Ticks {
	newest := n.Heard
	for _, v := range n.Values {
		newest = max(newest, v.At)
	}
	return newest
}

// latestRanges are the rows of the scope's devices in a table with keys as in latest. A tenant's are the ranges that it
// has there, or one for each partition where the question searches or needs memberships.
func (q Question) latestRanges(
	ctx context.Context, t *tables.Table, ofTenant func(schema.Tenant) []tables.Keys,
) iter.Seq2[read, error] {
	if q.Scope.ofTenant() && (q.searching() || q.needsMembers()) {
		return q.tenantPartitions(ctx, t, ofTenant(q.Scope.tenant), schema.ParseLatestPartition)
	}
	return func(yield func(read, error) bool) {
		if q.Scope.ofTenant() {
			for _, keys := range ofTenant(q.Scope.tenant) {
				if !yield(q.output(t, tables.Range{Partitions: keys}, schema.LatestPartition{}), nil) {
					return
				}
			}
			return
		}
		for _, home := range q.Scope.homes {
			if home.left { // its newest values are emptied
				continue
			}
			part := tables.Range{Partitions: tables.Is(home.String()), Rows: home.IDs}
			if d := q.Scope.device; d != nil {
				part.Rows = schema.LatestRows(d.Device, d.Device)
			}
			if !yield(q.output(t, part, home.LatestPartition), nil) {
				return
			}
		}
	}
}

// tenantPartitions reads each partition of a tenant by itself. Home says what its key is of.
func (q Question) tenantPartitions(
	ctx context.Context, t *tables.Table, all []tables.Keys, home func(pk string) (schema.LatestPartition, error),
) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		for _, keys := range all {
			if !yieldAll(parsed(ctx, t, keys, func(pk string) (read, error) {
				at, err := home(pk)
				return q.output(t, tables.Partition(pk), at), err
			}), yield) {
				return
			}
		}
	}
}

// ChangedLatest calls take with each page of the rows of a partition that storage has written since
// a time, or of all rows if it is zero. It returns the number of pages, and the service's time when
// it read the first one. A device with many sensors has several rows. Unreadable rows are left out, and
// those that were emptied are not.
func (f Outputs) ChangedLatest(
	ctx context.Context, p schema.LatestPartition, since tables.Ticks, take func([]Newest),
) (at time.Time, pages int, err error) {
	return changed(ctx, f.latest(), p, since, Question{}.newest, take)
}

func changed[R any](
	ctx context.Context, t *tables.Table, p schema.LatestPartition, since tables.Ticks,
	newest func(schema.LatestRow, tables.Entity, report) (R, bool), take func([]R),
) (at time.Time, pages int, err error) {
	query := tables.Query{Range: tables.Partition(p.String())}
	if since > 0 {
		query.Filter = "Timestamp ge datetime'" + since.Time().Format("2006-01-02T15:04:05.0000000Z") + "'"
	}
	ignore := func(string, error) {}
	decode := outputs(schema.ParseLatestRow, func(row schema.LatestRow, e tables.Entity, report report) (R, bool) {
		n, _ := newest(row, e, report)
		return n, true
	})
	for page, err := range t.Rows(ctx, query) {
		if tables.Absent(err) {
			break
		}
		if err != nil {
			return at, pages, err
		}
		if pages++; pages == 1 {
			at = page.Time
		}
		all := make([]R, 0, len(page.Rows))
		for _, e := range page.Rows {
			if n, readable := decode(e, ignore); readable {
				all = append(all, n)
			}
		}
		take(all)
	}
	return at, pages, nil
}

// NewestTime returns the time of a device's newest reading; zero where it has none, and for
// scopes of several devices.
func (f Outputs) NewestTime(ctx context.Context, scope Scope) (newest tables.Ticks, err error) {
	if scope.device == nil {
		return 0, nil
	}
	for n, err := range f.Latest(ctx, Question{Scope: scope}) {
		if err != nil && !isUnreadable(err) {
			return 0, err
		}
		newest = max(newest, n.newest())
	}
	return newest, nil
}

// LatestPartitions yields the partitions of latest that have rows, with one request each.
func (f Outputs) LatestPartitions(ctx context.Context) iter.Seq2[schema.LatestPartition, error] {
	return parsed(ctx, f.latest(), tables.Keys{}, schema.ParseLatestPartition)
}
