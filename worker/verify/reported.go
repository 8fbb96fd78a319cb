package verify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A reported is a device's buckets of a window that is reported. They are read by key, as their table has them by
// time.
//
// They are written when a bucket has ended, and at a slower pace before. So the last one may be of fewer readings than
// storage has, until a later row has closed it, or the device rests for longer. Before reports were configured, there
// were none.
type reported struct {
	output string
	window schema.Window
	room   int // of a bucket
	open   *sums
	start  tables.Ticks
	ended  []ended // that are still to be compared
	begun  bool    // one was found: there were reports by then
}

// An ended bucket is one that later rows have closed.
type ended struct {
	start tables.Ticks
	want  *sums
	last  bool // no later row of the days that are verified has closed it
}

func (b *reported) name() string { return b.output }

func (b *reported) row(p *pipe, r *reading) error {
	start := b.window.Start(r.key.Ticks)
	if b.open != nil && start != b.start {
		b.ended = append(b.ended, ended{b.start, b.open, false})
		b.open = nil
	}
	if b.open == nil {
		b.open = &sums{sensors: map[string]*sum{}, left: b.room, timed: true}
		b.start = start
	}
	b.open.add(r)
	return nil
}

func (b *reported) finish(ctx context.Context, p *pipe) error {
	if b.open != nil {
		b.ended = append(b.ended, ended{b.start, b.open, true})
	}
	for _, e := range b.ended {
		if err := b.compare(ctx, p, e); err != nil {
			return err
		}
	}
	return nil
}

// compare compares a bucket with what is stored.
func (b *reported) compare(ctx context.Context, p *pipe, e ended) error {
	if e.start < p.floor {
		return nil
	}
	partition := schema.RollupPartition{Tenant: p.member.Tenant, Window: b.window, Day: schema.DayOf(e.start),
		Month: p.member.Month}
	row, err := b.read(ctx, p, partition.String(), e.start)
	if err != nil {
		return err
	}
	count, errStored := schema.StoredOf(row)
	if errStored != nil {
		return errStored
	}
	d := difference{output: b.output, from: e.start, to: e.start.Add(time.Duration(b.window)),
		rows: e.want.rows - count.Rows, is: readings(count.Rows), want: readings(e.want.rows),
		due: p.deleted(Buckets, b.window)}
	is, want := stored(row), e.want.properties()
	p.compared(b.output, len(is), row.Size())
	due := e.want.rows
	open := e.last && !p.track.done(d.to)
	if b.begun = b.begun || count.Rows > 0; d.rows >= 0 && (open || !b.begun || untimed(is, e.start)) {
		d.reason, due = NotDue, count.Rows
	}
	p.counted(schema.DayOf(e.start), b.output, count.Rows, due)
	if d.rows != 0 || count.Bytes != e.want.size && count.Rows > 0 {
		p.differ(d)
	}
	if !p.Values || d.reason == NotDue {
		return nil
	}
	p.differEach(d, is, want)
	return nil
}

// untimed reports whether a bucket was open when reports were configured. All of its numbers are then said to begin
// with it, and rows from before are not counted.
func untimed(is map[string]string, start tables.Ticks) bool {
	for _, text := range is {
		if !strings.Contains(text, fmt.Sprintf(",%d,", int64(start))) {
			return false
		}
	}
	return len(is) > 0
}

// read reads a device's bucket, with all of its parts.
func (b *reported) read(
	ctx context.Context, p *pipe, partition string, start tables.Ticks,
) (e tables.Entity, err error) {
	t := p.Client.Table(p.Names.Output(schema.BucketsTable))
	for part := 1; part == 1 || int64(part) <= e.Get("_parts").Int(); part++ {
		row, err := t.Get(ctx, partition, schema.BucketRow{Bucket: start, Device: p.member.Device, Part: part}.String())
		if tables.Absent(err) {
			continue
		}
		if err != nil {
			return e, err
		}
		e.Properties = append(e.Properties, row.Properties...)
	}
	return e, nil
}
