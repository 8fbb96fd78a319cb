package verify

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
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

	columns map[string]column // read after the files: it has theirs

	files []shelvedFile // that are not open yet
	open  openFiles
	ahead archivedRow
	more  bool
	found Device

	rollups  []*archivedRollups
	torn     bool     // files have not the rows of the device that storage has
	why      Reason   // that explains all of the device; empty: it is not known yet
	standing standing // of the memberships, as they were read
	compared Compared // cells
}

// openFiles are files whose rows come next, each in their order.
type openFiles []*openFile

type openFile struct {
	name  string
	next  func() (archivedRow, error, bool)
	stop  func()
	ahead archivedRow
}

func (all openFiles) stop() {
	for _, f := range all {
		f.stop()
	}
}

// compareFiles compares the files of a day with the catalog's counts, and with --values with the rows of storage. If
// somebody makes the day meanwhile, it looks again.
func (s *shelf) compareFiles(ctx context.Context, day schema.Day, reason Reason) error {
	days := s.days
	for n := 1; ; n++ {
		all, err := s.readFiles(ctx, readingsTable, day)
		if err != nil {
			return err
		}
		d := &archivedDay{shelf: s, day: day, reason: reason}
		if d.months, d.files = s.together(all); s.Device != "" { // one partition of the fleet has it
			d.months = []schema.Month{s.at.Month}
		}
		if d.months[0] != s.at.Month {
			return nil
		}
		if err := d.compare(ctx, days); err != nil {
			return err
		}
		changed := false
		if d.found.Unexplained() > 0 {
			marked, err := s.marked(ctx)
			if err != nil {
				return err
			}
			if reason == "" && marked[day] {
				reason = Waits
			}
			after, _, err := s.readDays(ctx)
			if err != nil {
				return err
			}
			stands, err := d.stands(ctx)
			if err != nil {
				return err
			}
			changed = reason != d.reason || !stands || slices.ContainsFunc(d.months, func(m schema.Month) bool {
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
	if counted != inFiles && d.Device == "" {
		d.differ(Difference{Rows: counted - inFiles, Is: fmt.Sprintf("%d readings in %d files", inFiles, len(d.files)),
			Want: readings(counted) + " as the catalog counts them"})
	}
	if !d.Values || d.Archive.Read == nil {
		return nil
	}
	defer func() { d.open.stop() }()
	var err error
	if d.columns, err = d.readColumns(ctx, readingsTable, readingsColumns()); err != nil {
		return err
	}
	if err := d.openRollups(ctx); err != nil {
		return err
	}
	defer func() {
		for _, r := range d.rollups {
			r.files.stop()
		}
	}()
	if err := d.readRows(ctx, days); err != nil {
		return err
	}
	d.compared.Output = cellsOutput
	d.found.Compared = append(d.found.Compared, d.compared)
	return nil
}

// readRows compares the rows of the files with those of storage.
func (d *archivedDay) readRows(ctx context.Context, days map[dayOf]shelved) error {
	if err := d.advance(ctx); err != nil {
		return err
	}
	for m, err := range d.members(ctx) {
		if err != nil {
			return err
		}
		d.standing.add(m)
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

// differ notes a difference. Those of a device that are alike are one, and so are those of its cells.
func (d *archivedDay) differ(x Difference) {
	if x.Reason == "" {
		x.Reason = d.reason
	}
	if x.Reason == "" {
		x.Reason = Unknown
	}
	x.Output = cmp.Or(x.Output, filesOutput)
	d.torn = d.torn || x.Output == filesOutput
	for i := len(d.found.Differences) - 1; i >= 0 && d.found.Differences[i].Device == x.Device; i-- {
		o := &d.found.Differences[i]
		if o.Output == x.Output && o.Reason == x.Reason && (o.Is == x.Is || x.Output == cellsOutput) {
			o.More, o.Rows = o.More+1, o.Rows+x.Rows
			return
		}
	}
	d.found.Differences = append(d.found.Differences, d.about(d.day, x.Output, x))
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
			if d.Device != "" {
				q.Range.Rows = tables.Is(string(schema.Member{Tenant: d.at.Tenant, Device: d.Device}.Key()))
			}
			var stop func()
			next[i], stop = iter.Pull2(d.Client.Table(d.Names.Fleet()).Entities(ctx, q))
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
			if first < 0 || d.selects(string(ahead[first].Device)) && !yield(*ahead[first], nil) {
				return
			}
			if err := pull(first); err != nil {
				yield(schema.Member{}, err)
				return
			}
		}
	}
}

// device compares the rows of a device. One that storage accepted after the watermark may not be there yet, or as it
// was before.
func (d *archivedDay) device(ctx context.Context, m schema.Member, watermark tables.Ticks) error {
	model := d.Model(m)
	sums, err := d.beginSums(m)
	if err != nil {
		return err
	}
	defer sums.stop()
	d.torn, d.why = false, d.reason
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(m.Device)), Rows: tables.Keys{
		From: d.day.Start().String(), Before: (d.day + 1).Start().String()}}}
	for e, err := range d.Client.Table(m.Readings).Entities(ctx, q) {
		if err != nil {
			return err
		}
		if _, err := schema.ParseRowKey(e.RowKey); err != nil || !m.Has(tables.TicksBefore(e.RowKey)) {
			continue
		}
		row := archivedRow{device: string(m.Device), key: e.RowKey}
		if err := d.extra(ctx, m, &row); err != nil {
			return err
		}
		switch {
		case d.more && d.ahead.compare(&row) == 0:
			if r := model.read(&e); m.Watermark <= d.day.Start() { // others may be there as they were meant before
				if err := d.cells(ctx, m, &r, watermark); err != nil {
					return err
				}
				if err := sums.add(&r, watermark); err != nil {
					return err
				}
			}
			if err := d.advance(ctx); err != nil {
				return err
			}
		case e.Timestamp <= watermark:
			why, err := d.because(ctx, m)
			if err != nil {
				return err
			}
			d.differ(Difference{Device: m.Device, At: tables.TicksBefore(e.RowKey).Time(), Rows: 1, Is: "absent",
				Want: "there, as row " + tables.Quote(e.RowKey) + " is in storage", Reason: why})
		}
	}
	if err := d.extra(ctx, m, &archivedRow{device: string(m.Device), key: "\x7f"}); err != nil || d.torn {
		return err
	}
	return sums.compareRest(ctx)
}

// cells compares the cells of the row that comes next with those of a reading.
func (d *archivedDay) cells(ctx context.Context, m schema.Member, r *reading, watermark tables.Ticks) error {
	is, want := d.ahead.cells, r.cells()
	d.compared.Rows, d.compared.Values = d.compared.Rows+1, d.compared.Values+int64(len(want))
	if maps.Equal(is, want) {
		return nil
	}
	reason, err := d.because(ctx, m)
	if err != nil {
		return err
	}
	if reason == Unknown && r.stored > watermark {
		reason = Late
	}
	for _, c := range unequal(is, want, cell.compare) {
		d.differ(Difference{Device: m.Device, Output: cellsOutput, At: r.key.Ticks.Time(), Sensor: c.String(),
			Is: cmp.Or(is[c], "absent"), Want: cmp.Or(want[c], "absent"), Reason: reason})
	}
	return nil
}

// because returns why the archive may have other rows or cells of a device than storage: what its pipeline still has to
// fold again has not marked the day yet.
func (d *archivedDay) because(ctx context.Context, m schema.Member) (Reason, error) {
	if d.why != "" {
		return d.why, nil
	}
	p := d.pipe(m)
	if err := p.readTrack(ctx); err != nil {
		return Unknown, err
	}
	d.why = p.explain(dayDiffers(d.day))
	return d.why, nil
}

// extra takes the rows of a device before one of storage, which storage does not have. Retention may have deleted them.
func (d *archivedDay) extra(ctx context.Context, m schema.Member, before *archivedRow) error {
	for d.more && d.ahead.compare(before) < 0 {
		if m.Watermark <= d.day.Start() {
			why, err := d.because(ctx, m)
			if err != nil {
				return err
			}
			d.differ(Difference{Device: m.Device, At: tables.TicksBefore(d.ahead.key).Time(), Rows: -1, Is: "there",
				Want: "absent, as storage has no row " + tables.Quote(d.ahead.key), Reason: why})
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
	reason, err := d.left(ctx, d.at.Tenant, id)
	for row := d.ahead; err == nil && d.more && d.ahead.device == row.device; err = d.advance(ctx) {
		if reason != Left {
			d.differ(Difference{Device: id, At: tables.TicksBefore(d.ahead.key).Time(), Rows: -1, Is: "there",
				Want: "absent: the tenant has no such device"})
		}
	}
	return err
}

// selects reports whether a device is one of those that are verified.
func (d *archivedDay) selects(device string) bool {
	return d.Device == "" || device == string(d.Device)
}

// advance goes on to the next row of any file that is of a device to verify. A row that comes twice is a difference.
func (d *archivedDay) advance(ctx context.Context) error {
	for last := d.ahead; ; {
		if err := d.openFiles(ctx); err != nil {
			return err
		}
		if d.more = len(d.open) > 0; !d.more {
			return nil
		}
		first := slices.MinFunc(d.open, func(a, b *openFile) int { return a.ahead.compare(&b.ahead) })
		d.ahead = first.ahead
		d.step(&d.open, first)
		if !d.selects(d.ahead.device) {
			continue
		}
		if d.ahead.compare(&last) != 0 {
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
		size, err := d.openFile(ctx, &d.open, f, d.columns, "there, with "+readings(f.rows))
		if err != nil {
			return err
		}
		if size > 0 {
			d.found.Compared = append(d.found.Compared, Compared{Output: filesOutput, Rows: f.rows, Bytes: int64(size)})
		}
	}
	return nil
}

// openFile adds a file to those that are open, and returns its size; 0 where there is none, which should be there.
func (d *archivedDay) openFile(
	ctx context.Context, to *openFiles, f shelvedFile, columns map[string]column, want string,
) (size int, err error) {
	content, err := d.Archive.Read(ctx, d.at.Tenant, f.name)
	if err != nil {
		return 0, err
	}
	if content == nil {
		d.differ(Difference{Rows: f.rows, Is: "without file " + f.name, Want: want})
		return 0, nil
	}
	o := &openFile{name: f.name}
	o.next, o.stop = iter.Pull2(rowsOfFile(content, columns))
	*to = append(*to, o)
	d.step(to, o)
	return len(content), nil
}

// step reads the next row of an open file, and closes it after the last one, or where it is damaged.
func (d *archivedDay) step(open *openFiles, f *openFile) {
	row, err, more := f.next()
	if err != nil {
		d.differ(Difference{Is: fmt.Sprintf("damaged: %v", err), Want: "file " + f.name})
	}
	if f.ahead = row; !more || err != nil {
		f.stop()
		*open = slices.DeleteFunc(*open, func(o *openFile) bool { return o == f })
	}
}
