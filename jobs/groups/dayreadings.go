package groups

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A DayReading is one reading of a TenantDay.
type DayReading struct {
	Member *schema.Member
	Sample fold.Sample
}

// uncounted is how often a device is taken to have written on a day that its ledger no longer covers.
const uncounted = tables.Ticks(time.Minute / 100)

// Counts yields how many rows each device has on the day according to its ledger, in the order of devices.
func (d TenantDay) Counts(ctx context.Context) iter.Seq2[int64, error] {
	q := tables.Query{Range: d.members("", ""), Select: []string{schema.TrackLedger, schema.TrackLedgerFrom,
		schema.TrackCheckpoint}}
	return func(yield func(int64, error) bool) {
		for e, err := range d.source.Tracking().Entities(ctx, q) {
			if err != nil {
				yield(0, err)
				return
			}
			if _, err := schema.ParseMemberKey(e.RowKey); err != nil {
				continue // the master reports it
			}
			rows, f := int64(0), e.Fields()
			ledger, err := tracking.ParseLedger(f.Binary(schema.TrackLedger))
			switch from := tables.Ticks(f.Int(schema.TrackLedgerFrom)); {
			case err == nil && d.window.From >= from:
				rows = ledger.Count(d.window.From, d.window.To)
			case f.String(schema.TrackCheckpoint) > d.window.From.String():
				rows = int64((d.window.To - d.window.From) / uncounted)
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
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
		reading.Go(func() { d.readMembers(ctx, first, before, devices, &reading) })
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
		own = device.samplesWithin(device.past)
	}
	if d.Also == nil {
		return own
	}
	return fold.Union(fold.Sample.Compare, own, device.samplesWithin(d.Also(&device.member)))
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
func (d TenantDay) readMembers(ctx context.Context, first, before schema.DeviceID, devices chan<- *deviceDay,
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
	if d.Others {
		var err error
		if d.beside, err = d.source.others(ctx); err != nil {
			put(&deviceDay{err: err})
			return
		}
	}
	began := false
	all := d.ofAll(func(d TenantDay) iter.Seq2[schema.Member, error] {
		return d.withLeft(ctx, d.members(first, before), func(at tables.Ticks) bool {
			if began { // with the first partition
				return true
			}
			began = true
			return put(&deviceDay{began: at})
		})
	})
	for m, err := range all {
		if err != nil {
			put(&deviceDay{err: err})
			return
		}
		device := &deviceDay{member: m, model: d.source.ModelOf(m), pages: make(chan dayPage, 1)}
		if d.Past != nil {
			device.past = d.Past(&m)
		}
		if device.past == nil && m.Readings == "" {
			continue // unreadable
		}
		if !put(device) {
			return
		}
		if device.past == nil {
			reading.Go(func() { d.readRows(ctx, device) })
		}
	}
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

// samplesWithin yields the samples from when the device belonged to the tenant.
func (d *deviceDay) samplesWithin(all iter.Seq2[fold.Sample, error]) iter.Seq2[fold.Sample, error] {
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
