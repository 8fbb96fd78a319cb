package groups

import (
	"context"
	"errors"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

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

// left begins to read the tracking rows of members.
func (d TenantDay) left(ctx context.Context, members tables.Range) *leftDevices {
	l := &leftDevices{ctx: ctx, day: d}
	q := tables.Query{Range: members, Select: []string{"PartitionKey", "RowKey", schema.TrackCheckpoint}}
	l.next, l.stop = iter.Pull2(d.source.Tracking().Entities(ctx, q))
	l.more = true
	return l
}

// readTo has the devices read that come before a row of the table fleet, or all that are left for an empty key. Each
// row of the table fleet has been read before the tracking rows beside it. It reports whether to go on.
func (l *leftDevices) readTo(key string, read func(schema.Member) bool, put func(*deviceDay) bool) bool {
	for l.more {
		if l.ahead.RowKey == "" {
			if l.ahead, l.err, l.more = l.next(); !l.more || errors.Is(l.err, tables.ErrNoTable) {
				l.more = false
				break
			}
		}
		if l.err != nil {
			l.more = false
			put(&deviceDay{err: l.err})
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
			put(&deviceDay{err: err})
			return false
		}
		if is && !read(m) {
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
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	device, err := schema.DeviceOf(e)
	if err != nil {
		return m, false, nil // those who list devices report it
	}
	if device.Status.Left() {
		kept := device.Status != schema.Erased && device.Month == d.Month && slices.Contains(device.Tenants(), d.Tenant)
		return device.Of(d.Tenant), kept, nil
	}
	e, err = p.Client.Table(p.Names.Fleet()).Get(ctx, track.PartitionKey, track.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m, err = schema.MemberOf(e)
	return m, err == nil, nil
}
