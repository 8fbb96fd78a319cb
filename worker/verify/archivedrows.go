package verify

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// An archivedDay is the rows of a day's files beside those of storage, both in the order of devices and row keys. Files
// that several partitions of the fleet share are compared once, with the first of these.
type archivedDay struct {
	*shelf
	day    schema.Day
	months []schema.Month
	reason Reason // that explains all; empty: nothing does

	files []shelvedFile // that are not open yet
	open  []*openFile
	ahead archivedRow
	more  bool
	found Device
}

// An openFile is one whose rows come next.
type openFile struct {
	name  string
	next  func() (archivedRow, error, bool)
	stop  func()
	ahead archivedRow
}

// compareFiles compares the files of a day with the catalog's counts, and with --values with the rows of storage. If
// somebody makes the day meanwhile, it looks again.
func (s *shelf) compareFiles(ctx context.Context, day schema.Day, reason Reason) error {
	days := s.days
	for n := 1; ; n++ {
		all, err := s.readFiles(ctx, day)
		if err != nil {
			return err
		}
		d := &archivedDay{shelf: s, day: day, reason: reason}
		if d.months, d.files = s.together(all); d.months[0] != s.at.Month {
			return nil
		}
		if err := d.compare(ctx, days); err != nil {
			return err
		}
		changed := false
		if d.found.Unexplained() > 0 {
			after, _, err := s.readDays(ctx)
			if err != nil {
				return err
			}
			changed = slices.ContainsFunc(d.months, func(m schema.Month) bool {
				return days[dayOf{day, m}] != after[dayOf{day, m}]
			})
			days = after
		}
		if changed && n == looks {
			d.found.unsteady()
		}
		if !changed || n == looks {
			s.found.join(d.found)
			return nil
		}
		s.pause(n)
	}
}

func (d *archivedDay) compare(ctx context.Context, days map[dayOf]shelved) error {
	counted, inFiles := int64(0), int64(0)
	for _, m := range d.months {
		counted += days[dayOf{d.day, m}].rows
	}
	for _, f := range d.files {
		inFiles += f.rows
	}
	if counted != inFiles {
		d.differ(Difference{Rows: counted - inFiles, Is: fmt.Sprintf("%d readings in %d files", inFiles, len(d.files)),
			Want: readings(counted) + " as the catalog counts them"})
	}
	if !d.Values || d.Archive.Read == nil {
		return nil
	}
	defer func() {
		for _, f := range d.open {
			f.stop()
		}
	}()
	if err := d.advance(ctx); err != nil {
		return err
	}
	for m, err := range d.members(ctx) {
		if err != nil {
			return err
		}
		for d.more && d.ahead.device < string(m.Device) {
			if err := d.stranger(ctx); err != nil {
				return err
			}
		}
		if err := d.device(ctx, m, days[dayOf{d.day, m.Month}].watermark); err != nil {
			return err
		}
	}
	for d.more {
		if err := d.stranger(ctx); err != nil {
			return err
		}
	}
	return nil
}

// differ notes a difference. Successive ones of a device that are alike are one.
func (d *archivedDay) differ(x Difference) {
	if x.Reason == "" {
		x.Reason = d.reason
	}
	if x.Reason == "" {
		x.Reason = Unknown
	}
	if n := len(d.found.Differences); n > 0 {
		last := &d.found.Differences[n-1]
		if last.Device == x.Device && last.Is == x.Is && last.Reason == x.Reason {
			last.More, last.Rows = last.More+1, last.Rows+x.Rows
			return
		}
	}
	d.found.Differences = append(d.found.Differences, d.about(d.day, filesOutput, x))
}

// members yields the devices of the tenant in the partitions that share files, in the order of IDs.
func (d *archivedDay) members(ctx context.Context) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		next := make([]func() (tables.Entity, error, bool), len(d.months))
		ahead := make([]*schema.Member, len(d.months))
		pull := func(i int) error {
			e, err, more := next[i]()
			if ahead[i] = nil; err != nil || !more {
				return err
			}
			m, err := schema.MemberOf(e)
			ahead[i] = &m
			return err
		}
		for i, month := range d.months {
			q := tables.Query{Range: tables.Range{Partitions: tables.Is(month.String()), Rows: schema.MembersOf(d.at.Tenant)}}
			var stop func()
			next[i], stop = pullEntities(d.Client.Table(d.Names.Fleet()).Entities(ctx, q))
			defer stop()
			if err := pull(i); err != nil {
				yield(schema.Member{}, err)
				return
			}
		}
		for {
			first := -1
			for i, m := range ahead {
				if m != nil && (first < 0 || m.Device < ahead[first].Device) {
					first = i
				}
			}
			if first < 0 || !yield(*ahead[first], nil) {
				return
			}
			if err := pull(first); err != nil {
				yield(schema.Member{}, err)
				return
			}
		}
	}
}

// device compares the rows of a device. One that storage accepted after the watermark may not be there yet.
func (d *archivedDay) device(ctx context.Context, m schema.Member, watermark tables.Ticks) error {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(m.Device)), Rows: tables.Keys{
		From: d.day.Start().String(), Before: (d.day + 1).Start().String()}}, Select: []string{"Timestamp"}}
	for e, err := range d.Client.Table(m.Readings).Entities(ctx, q) {
		if err != nil {
			return err
		}
		if _, err := schema.ParseRowKey(e.RowKey); err != nil || !m.Has(tables.TicksBefore(e.RowKey)) {
			continue
		}
		row := archivedRow{string(m.Device), e.RowKey}
		if err := d.extra(ctx, m, row); err != nil {
			return err
		}
		switch {
		case d.more && d.ahead == row:
			if err := d.advance(ctx); err != nil {
				return err
			}
		case e.Timestamp <= watermark:
			d.differ(Difference{Device: m.Device, At: tables.TicksBefore(e.RowKey).Time(), Rows: 1, Is: "absent",
				Want: "there, as row " + tables.Quote(e.RowKey) + " is in storage"})
		}
	}
	return d.extra(ctx, m, archivedRow{string(m.Device), "\x7f"})
}

// extra takes the rows of a device before one of storage, which storage does not have. Retention may have deleted them.
func (d *archivedDay) extra(ctx context.Context, m schema.Member, before archivedRow) error {
	for d.more && d.ahead.compare(before) < 0 {
		if m.Watermark <= d.day.Start() {
			d.differ(Difference{Device: m.Device, At: tables.TicksBefore(d.ahead.key).Time(), Rows: -1, Is: "there",
				Want: "absent, as storage has no row " + tables.Quote(d.ahead.key)})
		}
		if err := d.advance(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stranger takes the rows of a device that the tenant does not have, or no longer.
func (d *archivedDay) stranger(ctx context.Context) error {
	id := schema.DeviceID(d.ahead.device)
	reason, err := (&home{Config: d.Config, at: d.at}).left(ctx, id)
	for row := d.ahead; err == nil && d.more && d.ahead.device == row.device; err = d.advance(ctx) {
		if reason != Left {
			d.differ(Difference{Device: id, At: tables.TicksBefore(d.ahead.key).Time(), Rows: -1, Is: "there",
				Want: "absent: the tenant has no such device"})
		}
	}
	return err
}

// advance goes on to the next row of any file. A row that comes twice is a difference.
func (d *archivedDay) advance(ctx context.Context) error {
	for last := d.ahead; ; {
		if err := d.openFiles(ctx); err != nil {
			return err
		}
		if d.more = len(d.open) > 0; !d.more {
			return nil
		}
		first := slices.MinFunc(d.open, func(a, b *openFile) int { return a.ahead.compare(b.ahead) })
		d.ahead = first.ahead
		d.step(first)
		if d.ahead != last {
			return nil
		}
		d.differ(Difference{Device: schema.DeviceID(last.device), At: tables.TicksBefore(last.key).Time(), Rows: -1,
			Is: "there twice", Want: "there once: row " + tables.Quote(last.key)})
	}
}

// openFiles opens the files whose first device may come next.
func (d *archivedDay) openFiles(ctx context.Context) error {
	for len(d.files) > 0 {
		f := d.files[0]
		if slices.ContainsFunc(d.open, func(o *openFile) bool { return o.ahead.device < f.first }) {
			break
		}
		d.files = d.files[1:]
		content, err := d.Archive.Read(ctx, d.at.Tenant, f.name)
		if err != nil {
			return err
		}
		if content == nil {
			d.differ(Difference{Rows: f.rows, Is: "without file " + f.name, Want: "there, with " + readings(f.rows)})
			continue
		}
		d.found.Compared = append(d.found.Compared, Compared{Output: filesOutput, Rows: f.rows,
			Bytes: int64(len(content))})
		o := &openFile{name: f.name}
		o.next, o.stop = iter.Pull2(rowsOfFile(content))
		d.open = append(d.open, o)
		d.step(o)
	}
	return nil
}

// step reads the next row of a file, and closes it after the last one, or where it is damaged.
func (d *archivedDay) step(f *openFile) {
	row, err, more := f.next()
	if err != nil {
		d.differ(Difference{Is: fmt.Sprintf("damaged: %v", err), Want: "file " + f.name})
	}
	if f.ahead = row; !more || err != nil {
		f.stop()
		d.open = slices.DeleteFunc(d.open, func(o *openFile) bool { return o == f })
	}
}
