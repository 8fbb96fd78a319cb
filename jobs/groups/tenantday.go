package groups

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A TenantDay is the readings of a tenant on one day, or in a part of it, of the devices in one partition of the
// fleet, or several. Devices that have left the fleet belong to it as long as their data is kept.
type TenantDay struct {
	Month  schema.Month
	Beside []schema.Month // further partitions
	Tenant schema.Tenant
	// Past, if it is not nil, is called for each device. The readings that it returns, those of an archive, stand for
	// the device's rows in storage; nil: its rows are read.
	Past func(*schema.Member) iter.Seq2[fold.Sample, error]
	// Also, if it is not nil, has further readings of a device, in the order of their keys. Of two with one key, it has
	// that of storage, or of Past.
	Also func(*schema.Member) iter.Seq2[fold.Sample, error]
	// FromStorage, if it is not nil, is called with each device whose rows are read from storage, before these.
	FromStorage func(*schema.Member)
	// Others says that devices that have left belong to it as well which only other pipelines have folded: the archive
	// has readings of them if it was another pipeline's before.
	Others bool
	// Strange, if it is not nil, is called for each row that is no reading.
	Strange func()
	window  coverage.Window
	source  *Source
	folded  schema.Pipeline // whose tracking rows tell which devices have left; empty: the source's
	beside  []schema.Pipeline
}

// TenantDay returns a day to read. It sends nothing.
func (s *Source) TenantDay(m schema.Month, t schema.Tenant, d schema.Day) TenantDay {
	return TenantDay{Month: m, Tenant: t, window: coverage.Window{From: d.Start(), To: (d + 1).Start()}, source: s}
}

// Part returns the readings whose ticks lie in [from, to).
func (d TenantDay) Part(from, to tables.Ticks) TenantDay {
	d.window = d.window.And(coverage.Window{From: from, To: to})
	return d
}

// Gone reports whether rows of a device on the day may have been deleted.
func (d TenantDay) Gone(m *schema.Member) bool { return m.Watermark > d.window.From }

// Members yields the devices of the fleet from first up to, but without, before, with their watermarks alone.
func (d TenantDay) Members(ctx context.Context, first, before schema.DeviceID) iter.Seq2[schema.Member, error] {
	return d.ofAll(func(d TenantDay) iter.Seq2[schema.Member, error] {
		q := tables.Query{Range: d.members(first, before), Select: []string{"RowKey", schema.MemberWatermark}}
		return func(yield func(schema.Member, error) bool) {
			for e, err := range d.source.Client.Table(d.source.Names.Fleet()).Entities(ctx, q) {
				if err != nil {
					yield(schema.Member{}, err)
					return
				}
				key, err := schema.ParseMemberKey(e.RowKey)
				if err != nil {
					continue // the master reports it
				}
				m := schema.Member{Month: d.Month, Device: key.Device(),
					Watermark: tables.Ticks(e.Get(schema.MemberWatermark).Int())}
				if !yield(m, nil) {
					return
				}
			}
		}
	})
}

// ofAll yields the members of all partitions, as each pipeline knows them, in the order of devices, given those of
// each. It yields no device twice: one that goes to another partition meanwhile may be seen in both.
func (d TenantDay) ofAll(members func(TenantDay) iter.Seq2[schema.Member, error]) iter.Seq2[schema.Member, error] {
	if len(d.Beside)+len(d.beside) == 0 {
		return members(d)
	}
	var all []iter.Seq2[schema.Member, error]
	for _, d.Month = range append([]schema.Month{d.Month}, d.Beside...) {
		for _, d.folded = range append([]schema.Pipeline{""}, d.beside...) {
			all = append(all, members(d))
		}
	}
	return fold.Union(func(a, b schema.Member) int { return cmp.Compare(a.Device, b.Device) }, all...)
}

// members returns the range of rows of the tenant's devices from first up to, but without, before; empty: no bound.
func (d TenantDay) members(first, before schema.DeviceID) tables.Range {
	keys := schema.MembersOf(d.Tenant)
	if first != "" {
		keys.From += string(first)
	}
	if before != "" {
		keys.Before = schema.MembersOf(d.Tenant).From + string(before)
	}
	return tables.Range{Partitions: tables.Is(d.Month.String()), Rows: keys}
}

// withLeft yields members and devices that have left, in their order. It calls began with the time of the service.
func (d TenantDay) withLeft(ctx context.Context, members tables.Range,
	began func(tables.Ticks) bool) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		left := d.left(ctx, members)
		defer left.stop()
		first := true
		for page, err := range d.source.Client.Table(d.source.Names.Fleet()).DatedRows(ctx, tables.Query{Range: members}) {
			if err != nil {
				yield(schema.Member{}, err)
				return
			}
			if first && !began(tables.TicksOf(page.Time)) {
				return
			}
			first = false
			for _, e := range page.Rows {
				if !left.readTo(e.RowKey, yield) {
					return
				}
				m, err := schema.MemberOf(e)
				if err != nil { // the master reports it
					m = d.unreadable(e)
				}
				if m.Device != "" && !yield(m, nil) {
					return
				}
			}
		}
		left.readTo("", yield)
	}
}

// unreadable returns what is known of a device whose membership cannot be read, as that of a later release: any row of
// it may be gone. What an archive has of it stands for its rows; else it is left out.
func (d TenantDay) unreadable(e tables.Entity) (m schema.Member) {
	if key, err := schema.ParseMemberKey(e.RowKey); err == nil {
		m = schema.Member{Month: d.Month, Tenant: d.Tenant, Device: key.Device(), Watermark: tables.MaxTicks}
	}
	return m
}

// leftDevices finds devices that have left the fleet and whose data is kept, beside the rows of those that belong to
// it. The pipeline still has their tracking rows. Of a device whose data is deleted, the tracking row says nothing.
type leftDevices struct {
	ctx  context.Context
	day  TenantDay
	next func() (tables.Entity, error, bool)
	stop func()

	ahead tables.Entity
	err   error
	more  bool
}

// tracking returns the table that tells which devices have left.
func (d TenantDay) tracking() *tables.Table {
	of := *d.source
	of.Pipeline = cmp.Or(d.folded, of.Pipeline)
	return of.Tracking()
}

// others returns the other pipelines that have worked on the fleet.
func (s *Source) others(ctx context.Context) (all []schema.Pipeline, err error) {
	names, err := s.Client.Tables(ctx)
	for _, name := range names {
		if p, is := s.Names.PipelineOf(name); is && p != s.Pipeline {
			all = append(all, p)
		}
	}
	return all, err
}

// left begins to read the tracking rows of members.
func (d TenantDay) left(ctx context.Context, members tables.Range) *leftDevices {
	l := &leftDevices{ctx: ctx, day: d}
	q := tables.Query{Range: members, Select: []string{"PartitionKey", "RowKey", schema.TrackCheckpoint}}
	l.next, l.stop = iter.Pull2(d.tracking().Entities(ctx, q))
	l.more = true
	return l
}

// readTo yields the devices that come before a row of the table fleet, or all that are left for an empty key. Each row
// of the table fleet has been read before the tracking rows beside it. It reports whether to go on.
func (l *leftDevices) readTo(key string, yield func(schema.Member, error) bool) bool {
	for l.more {
		if l.ahead.RowKey == "" {
			if l.ahead, l.err, l.more = l.next(); !l.more || errors.Is(l.err, tables.ErrNoTable) {
				l.more = false
				break
			}
		}
		if l.err != nil {
			l.more = false
			yield(schema.Member{}, l.err)
			return false
		}
		if key != "" && l.ahead.RowKey > key {
			break
		}
		e := l.ahead
		l.ahead = tables.Entity{}
		if e.RowKey == key || e.Get(schema.TrackCheckpoint).Text() < l.day.window.From.String() {
			continue
		}
		m, is, err := l.day.leftMember(l.ctx, e)
		if err != nil {
			yield(m, err)
			return false
		}
		if is && !yield(m, nil) {
			return false
		}
	}
	return true
}

// leftMember returns the last membership of a device that a tracking row is about; false if it has left the fleet
// without its data. A device that has come meanwhile belongs to the fleet.
func (d TenantDay) leftMember(ctx context.Context, track tables.Entity) (m schema.Member, is bool, err error) {
	key, err := schema.ParseMemberKey(track.RowKey)
	if err != nil {
		return m, false, nil // the master reports it
	}
	p := d.source
	e, err := p.Client.Table(p.Names.Devices()).Get(ctx, string(key.Device()), schema.DeviceRow)
	if tables.Absent(err) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	device, err := schema.DeviceOf(e)
	if err != nil {
		return m, false, nil // those who list devices report it
	}
	kept := device.Status != schema.Erased && device.Month == d.Month && slices.Contains(device.Tenants(), d.Tenant)
	if device.Status.Left() {
		return device.Of(d.Tenant), kept, nil
	}
	e, err = p.Client.Table(p.Names.Fleet()).Get(ctx, track.PartitionKey, track.RowKey)
	if errors.Is(err, tables.ErrNotFound) { // it registers again: its record comes before its membership
		return device.Of(d.Tenant), kept, nil
	}
	if err != nil {
		return m, false, err
	}
	m, err = schema.MemberOf(e)
	return m, err == nil, nil
}
