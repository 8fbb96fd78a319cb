package groups

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A TenantDay is the readings of a tenant on one day, or in a part of it, of the devices in one partition of the fleet.
// Devices that have left the fleet belong to it as long as their data is kept.
type TenantDay struct {
	Month  schema.Month
	Tenant schema.Tenant
	// Past, if it is not nil, is called for each device. The readings that it returns, those of an archive, stand for the
	// device's rows in storage; nil: its rows are read.
	Past func(*schema.Member) iter.Seq2[fold.Sample, error]
	// Also, if it is not nil, has further readings of a device, in the order of their keys. Of two with one key, it has
	// that of storage, or of Past.
	Also func(*schema.Member) iter.Seq2[fold.Sample, error]
	// FromStorage, if it is not nil, is called with each device whose rows are read from storage, before these.
	FromStorage func(*schema.Member)
	// Strange, if it is not nil, is called for each row that is no reading.
	Strange func()
	window  coverage.Window
	source  *Source
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

// Watermarks yields the devices from first up to, but without, before whose rows on the day may have been deleted.
// Retention raises watermarks before it deletes rows: a device that is not among them had all its rows until now.
func (d TenantDay) Watermarks(ctx context.Context, first, before schema.DeviceID) iter.Seq2[schema.DeviceID, error] {
	return func(yield func(schema.DeviceID, error) bool) {
		for m, err := range d.Members(ctx, first, before) {
			if (err != nil || d.Gone(&m)) && !yield(m.Device, err) {
				return
			}
		}
	}
}

// Members yields the devices of the fleet from first up to, but without, before, with their watermarks alone.
func (d TenantDay) Members(ctx context.Context, first, before schema.DeviceID) iter.Seq2[schema.Member, error] {
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
			m := schema.Member{Device: key.Device(), Watermark: tables.Ticks(e.Get(schema.MemberWatermark).Int())}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// A DayReading is one reading of a TenantDay.
type DayReading struct {
	Member *schema.Member
	Sample fold.Sample
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

// uncounted is how often a device is taken to have written on a day that its ledger no longer covers.
const uncounted = tables.Ticks(time.Minute / 100)

// Counts yields how many rows each device has on the day according to its ledger, in the order of devices.
func (d TenantDay) Counts(ctx context.Context) iter.Seq2[Count, error] {
	q := tables.Query{Range: d.members("", ""), Select: []string{schema.TrackLedger, schema.TrackLedgerFrom,
		schema.TrackCheckpoint}}
	return func(yield func(Count, error) bool) {
		for e, err := range d.source.Tracking().Entities(ctx, q) {
			if err != nil {
				yield(Count{}, err)
				return
			}
			key, err := schema.ParseMemberKey(e.RowKey)
			if err != nil {
				continue // the master reports it
			}
			c := Count{Device: key.Device()}
			f := e.Fields()
			ledger, err := tracking.ParseLedger(f.Binary(schema.TrackLedger))
			switch from := tables.Ticks(f.Int(schema.TrackLedgerFrom)); {
			case err == nil && d.window.From >= from:
				c.Rows = ledger.Count(d.window.From, d.window.To)
			case f.String(schema.TrackCheckpoint) > d.window.From.String():
				c.Rows = int64((d.window.To - d.window.From) / uncounted)
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// A Count is the number of rows of a device on a day.
type Count struct {
	Device schema.DeviceID
	Rows   int64
}

// readAhead is how many devices are read at a time. Each holds at most two pages of rows.
const readAhead = 6

// Readings yields all readings that storage has of the devices from first up to, but without, before, in the order of
// devices and row keys; empty: no bound. It calls begun with the time of the service when it began: every row that
// storage accepted before is among the readings. Rows that are no readings are left out.
func (d TenantDay) Readings(ctx context.Context, first, before schema.DeviceID,
	begun func(tables.Ticks)) iter.Seq2[DayReading, error] {
	return func(yield func(DayReading, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		devices := make(chan *deviceDay, readAhead)
		reading.Go(func() { d.readMembers(ctx, d.members(first, before), devices, &reading) })
		for device := range devices {
			if device.err != nil {
				yield(DayReading{}, device.err)
				return
			}
			if device.began != 0 {
				begun(device.began)
				continue
			}
			if device.past == nil && d.FromStorage != nil {
				d.FromStorage(&device.member)
			}
			for sample, err := range d.samples(device) {
				if !yield(DayReading{&device.member, sample}, err) || err != nil {
					return
				}
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(DayReading{}, err)
		}
	}
}

// samples yields those of a device.
func (d TenantDay) samples(device *deviceDay) iter.Seq2[fold.Sample, error] {
	own := device.stored(d.Strange)
	if device.past != nil {
		own = device.of(device.past)
	}
	if d.Also == nil {
		return own
	}
	return fold.Union(own, device.of(d.Also(&device.member)))
}

// A deviceDay is a device whose rows are read ahead, or what ends the devices, or says when reading began.
type deviceDay struct {
	member schema.Member
	model  *fold.Model
	pages  chan dayPage
	past   iter.Seq2[fold.Sample, error] // instead of pages
	began  tables.Ticks
	err    error
}

type dayPage struct {
	rows []tables.Entity
	err  error
}

// readMembers begins to read the rows of members in their order, as far as devices has room.
func (d TenantDay) readMembers(ctx context.Context, members tables.Range, devices chan<- *deviceDay,
	reading *sync.WaitGroup) {
	defer close(devices)
	put := func(device *deviceDay) bool {
		select {
		case devices <- device:
			return true
		case <-ctx.Done():
			return false
		}
	}
	read := func(m schema.Member) bool {
		device := &deviceDay{member: m, model: d.source.ModelOf(m), pages: make(chan dayPage, 1)}
		if d.Past != nil {
			device.past = d.Past(&m)
		}
		if !put(device) {
			return false
		}
		if device.past == nil {
			reading.Go(func() { d.readRows(ctx, device) })
		}
		return true
	}
	p := d.source
	left := d.left(ctx, members)
	defer left.stop()
	first := true
	for page, err := range p.Client.Table(p.Names.Fleet()).Rows(ctx, tables.Query{Range: members}) {
		if err == nil && page.Time.IsZero() {
			err = tables.ErrNoDate
		}
		if err != nil {
			put(&deviceDay{err: err})
			return
		}
		if first && !put(&deviceDay{began: tables.TicksOf(page.Time)}) {
			return
		}
		first = false
		for _, e := range page.Rows {
			if !left.readTo(e.RowKey, read, put) {
				return
			}
			m, err := schema.MemberOf(e)
			if err != nil {
				continue // the master reports it
			}
			if !read(m) {
				return
			}
		}
	}
	left.readTo("", read, put)
}

// readRows reads the rows of a device.
func (d TenantDay) readRows(ctx context.Context, device *deviceDay) {
	defer close(device.pages)
	keys := tables.Keys{From: d.window.From.String(), Before: d.window.To.String()}
	rows := tables.Partition(string(device.member.Device))
	for _, rows.Rows = range device.member.Spans.Within(keys) {
		for page, err := range d.source.Client.Table(device.member.Readings).Rows(ctx, tables.Query{Range: rows}) {
			if errors.Is(err, tables.ErrNoTable) {
				return // the first device of an enrollment has not written yet
			}
			select {
			case device.pages <- dayPage{page.Rows, err}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// stored yields the rows that are read, as folds see them, and calls strange for those that are no readings.
func (d *deviceDay) stored(strange func()) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		for page := range d.pages {
			if page.err != nil {
				yield(fold.Sample{}, page.err)
				return
			}
			for _, e := range page.rows {
				r, err := schema.ReadingOf(e)
				if err != nil {
					if strange != nil {
						strange()
					}
					continue
				}
				if sample, _ := d.model.Sensors.Sample(r); !yield(sample, nil) {
					return
				}
			}
		}
	}
}

// of yields the samples from when the device belonged to the tenant.
func (d *deviceDay) of(all iter.Seq2[fold.Sample, error]) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		for sample, err := range all {
			if err == nil && !d.member.Has(sample.Key.Ticks) {
				continue
			}
			if !yield(sample, err) || err != nil {
				return
			}
		}
	}
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
