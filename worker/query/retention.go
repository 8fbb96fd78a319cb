package query

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// A RetentionStatus is how far retention has got with the readings of devices.
type RetentionStatus struct {
	Devices int              // that retention has looked at
	More    bool             // there are more devices than were read
	Waiting []WaitingDevices // those of most devices first
}

// WaitingDevices have readings that are old enough to go, and stay for one cause.
type WaitingDevices struct {
	Cause   retain.Cause
	Devices int
	From    tables.Ticks // the oldest of the readings are of this time or later; 0: nobody knows
	Device  schema.DeviceID
	Tenant  schema.Tenant // of Device, one with the oldest readings
	Reason  string        // why retention failed with Device, for jobs.CauseRetention
}

// Join adds the status of another account.
func (s *RetentionStatus) Join(o RetentionStatus) {
	s.Devices, s.More = s.Devices+o.Devices, s.More || o.More
	for _, w := range o.Waiting {
		s.wait(w)
	}
	slices.SortStableFunc(s.Waiting, func(a, b WaitingDevices) int { return cmp.Compare(b.Devices, a.Devices) })
}

// Retention returns how far the pipeline p has got with deleting readings of a tenant, or of all tenants for "". It
// reads the rows of devices in pages of a thousand, and at most so many; for a tenant, one for each month of deployment
// at least, and finds the months with a request each.
func (f Progress) Retention(
	ctx context.Context, p schema.Pipeline, of schema.Tenant, pages int, skipped *Skipped,
) (s RetentionStatus, err error) {
	table := f.Tables.Table(f.Names.Partitions(p))
	for part, err := range f.memberRanges(ctx, of) {
		if err != nil {
			return s, err
		}
		for page, err := range table.Rows(ctx, tables.Query{Range: part, Select: schema.RetentionProperties()}) {
			if tables.Absent(err) {
				return s, nil
			}
			if err != nil {
				return s, err
			}
			if pages == 0 {
				s.More = true
				return s, nil
			}
			pages--
			for _, e := range page.Rows {
				t, err := schema.TrackOf(e)
				if err != nil {
					skipped.Add(&schema.UnreadableError{
						Table: table.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err})
					continue
				}
				s.add(t, tables.TicksOf(page.Time))
			}
		}
	}
	slices.SortStableFunc(s.Waiting, func(a, b WaitingDevices) int { return cmp.Compare(b.Devices, a.Devices) })
	return s, nil
}

// memberRanges yields the ranges of tracking tables that have the rows of a tenant's devices, or of all for "".
func (f Progress) memberRanges(ctx context.Context, of schema.Tenant) iter.Seq2[tables.Range, error] {
	if of == "" {
		return func(yield func(tables.Range, error) bool) { yield(tables.Range{Rows: schema.DeviceTracks()}, nil) }
	}
	return Mapped(Devices(f).months(ctx), func(month string) tables.Range {
		return tables.Range{Partitions: tables.Is(month), Rows: schema.MembersOf(of)}
	})
}

// add counts a device.
func (s *RetentionStatus) add(t schema.Track, now tables.Ticks) {
	s.Devices++
	cause, reason := retain.Cause(t.Waits), ""
	if t.HeldAt(now) {
		cause, reason = retain.CauseRetention, t.Reason
	}
	if cause == "" {
		return
	}
	from := t.WaitsFrom
	if t.Checkpoint != "" {
		from = max(from, tables.TicksBefore(t.Checkpoint)+1)
	}
	s.wait(WaitingDevices{cause, 1, from, t.Place.Device(), t.Place.Key.Tenant(), reason})
}

// wait counts devices that wait. Whatever nobody knows of some of them, nobody knows of all.
func (s *RetentionStatus) wait(w WaitingDevices) {
	i := slices.IndexFunc(s.Waiting, func(other WaitingDevices) bool { return other.Cause == w.Cause })
	if i < 0 {
		s.Waiting = append(s.Waiting, w)
		return
	}
	all := s.Waiting[i].Devices + w.Devices
	if w.From < s.Waiting[i].From {
		s.Waiting[i] = w
	}
	s.Waiting[i].Devices = all
}
