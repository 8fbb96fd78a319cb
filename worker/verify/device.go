package verify

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A look is one look at a device.
type look struct {
	*Config
	member   schema.Member
	model    *Model
	from, to tables.Ticks
	now      tables.Ticks // of the service
	days     []*Day
	pipes    []*pipe
	seen     map[string]*Compared
}

// A pipe is what a look finds of a pipeline.
type pipe struct {
	*look
	Pipeline
	settings string
	track    track
	floor    tables.Ticks // below it, nothing is compared
	hours    map[tables.Ticks]hour
	late     []counted // spans with rows that the next audit finds
	counts   map[place]*Count
	spots    map[spot]*difference
	waiting  map[waits]int64
	refused  []string // rows

	series  []*series
	latest  *newest
	rates   *changes
	buckets []*reported
}

// An hour is how many rows the checkpoint has passed in it, and how many of them may have come after it.
type hour struct{ rows, late int64 }

type place struct {
	day    schema.Day
	output string
}

// waits are rows above the checkpoint.
type waits struct {
	day    schema.Day
	reason Reason
}

// looks is how often a device is looked at that changes meanwhile.
const looks = 6

// device verifies a device, and looks again if it has changed meanwhile and something differs.
func (c *Config) device(ctx context.Context, m schema.Member) (found Device, err error) {
	for n := 1; ; n++ {
		k := &look{Config: c, member: m, model: c.Model(m), from: c.From, to: c.To}
		if err := k.do(ctx); err != nil {
			return found, err
		}
		found = k.found()
		found.Looks = n
		if found.Unexplained() == 0 {
			return found, nil
		}
		again, changed, err := k.changed(ctx)
		if err != nil || !changed {
			return found, err
		}
		if n == looks {
			found.unsteady()
			return found, nil
		}
		m = again
		c.pause(n)
	}
}

// pause waits before the nth look, twice as long as before the one before.
func (c *Config) pause(n int) {
	for range 1 << (n - 1) {
		if c.Pause != nil {
			c.Pause()
		}
	}
}

// unsteady says of what nothing explains that somebody has changed the device during every look.
func (d *Device) unsteady() {
	for i := range d.Differences {
		if !d.Differences[i].Explained() {
			d.Differences[i].Reason = InFlight
		}
	}
}

// changed reads the membership and the tracking rows again, and reports whether somebody has written them, or is about
// to write outputs.
func (k *look) changed(ctx context.Context) (m schema.Member, changed bool, err error) {
	e, err := k.Client.Table(k.Names.Fleet()).Get(ctx, k.member.Month.String(), string(k.member.Key()))
	if errors.Is(err, tables.ErrNotFound) {
		return k.member, false, nil
	}
	if err != nil {
		return m, false, err
	}
	if m, err = schema.MemberOf(e); err != nil {
		return m, false, err
	}
	changed = m.ETag != k.member.ETag
	for _, p := range k.pipes {
		t, _, err := readTrack(ctx, k.Client.Table(k.Names.Partitions(p.Name)), m)
		if err != nil {
			return m, false, err
		}
		changed = changed || t.version != p.track.version || t.Claimed()
	}
	return m, changed, nil
}

func (k *look) do(ctx context.Context) error {
	for _, p := range k.Pipelines {
		if err := k.begin(ctx, p); err != nil {
			return err
		}
	}
	defer func() {
		for _, p := range k.pipes {
			p.stop()
		}
	}()
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(k.member.Device)),
		Rows: tables.Keys{From: k.from.String(), Before: k.to.String()}}}
	var maker Maker
	for e, err := range k.Client.Table(k.member.Readings).Entities(ctx, q) {
		if err != nil {
			return err
		}
		at := tables.TicksBefore(e.RowKey)
		if !k.member.Has(at) {
			continue
		}
		r := k.model.read(&e)
		day := k.day(schema.DayOf(at))
		if day.Stored == 0 && k.Maker != nil {
			k.made(maker)
			maker = k.Maker(k.member)
		}
		if day.Stored++; maker != nil {
			maker.Row(r.row, r.values)
		}
		for _, p := range k.pipes {
			if err := p.row(&r); err != nil {
				return err
			}
		}
		if r.refused {
			day.Rejected++
		}
	}
	k.made(maker)
	for _, p := range k.pipes {
		if err := p.end(ctx); err != nil {
			return err
		}
	}
	return nil
}

// made ends a day of what was made.
func (k *look) made(by Maker) {
	if by == nil || len(k.days) == 0 {
		return
	}
	if made, is := by.Made(); is {
		k.days[len(k.days)-1].Made = &made
	}
}

// day returns the day of a row. Rows come in the order of time.
func (k *look) day(d schema.Day) *Day {
	if n := len(k.days); n == 0 || k.days[n-1].Day != d.String() {
		k.days = append(k.days, &Day{Day: d.String(), Counts: []Count{}})
	}
	return k.days[len(k.days)-1]
}

// begin prepares to compare what a pipeline has made.
func (k *look) begin(ctx context.Context, of Pipeline) (err error) {
	p := &pipe{look: k, Pipeline: of, settings: of.Settings(k.member), hours: map[tables.Ticks]hour{},
		counts: map[place]*Count{}, spots: map[spot]*difference{}, waiting: map[waits]int64{}}
	if p.track, k.now, err = readTrack(ctx, k.Client.Table(k.Names.Partitions(of.Name)), k.member); err != nil {
		return err
	}
	p.floor = max(k.member.Watermark, p.track.watermark).Ceil(tables.Day)
	k.pipes = append(k.pipes, p)
	for _, w := range of.Windows {
		s := k.rollups(of, w)
		p.series = append(p.series, s)
		if err := s.begin(k.rowsOf(ctx, k.Names.Rollups(), w)); err != nil {
			return err
		}
	}
	if of.Latest {
		if p.latest, err = k.readNewest(ctx); err != nil {
			return err
		}
	}
	if of.Rates > 0 && k.Values {
		if err := p.beginRates(ctx); err != nil {
			return err
		}
	}
	p.beginReported()
	return nil
}

func (p *pipe) stop() {
	for _, s := range p.series {
		if s.stop != nil {
			s.stop()
		}
	}
}

// row takes a row of the device.
func (p *pipe) row(r *reading) error {
	at := tables.TicksBefore(r.row)
	if !p.track.has(r.row) {
		p.waiting[waits{schema.DayOf(at), p.waits(at)}]++
		return nil
	}
	h := p.hours[at.Floor(tables.Hour)]
	if h.rows++; lateAt(r, p.Settle) {
		h.late++
	}
	p.hours[at.Floor(tables.Hour)] = h
	defer p.refuse(r)
	if !r.valid {
		return nil
	}
	for _, s := range p.series {
		if err := s.row(p, r); err != nil {
			return err
		}
	}
	if p.latest != nil {
		p.latest.add(p, r)
	}
	if p.rates != nil {
		p.rates.add(r)
	}
	for _, b := range p.buckets {
		if err := b.row(p, r); err != nil {
			return err
		}
	}
	return nil
}

// refuse remembers a row that something of was refused, as far as a pipeline keeps them.
func (p *pipe) refuse(r *reading) {
	if r.refused && p.Values && tables.TicksBefore(r.row) >= p.floor && len(p.refused) <= schema.RejectSlots {
		p.refused = append(p.refused, r.row)
	}
}

// waits returns why a row above the checkpoint is not folded yet.
func (p *pipe) waits(at tables.Ticks) Reason {
	switch {
	case at > p.now.Add(-p.Settle):
		return NotDue
	case p.track.Attempts > 0:
		return Held
	}
	return InFlight
}

func (p *pipe) end(ctx context.Context) error {
	for _, s := range p.series {
		if err := s.end(p); err != nil {
			return err
		}
	}
	for _, b := range p.buckets {
		if err := b.end(ctx, p); err != nil {
			return err
		}
	}
	p.checkLedger()
	if p.latest != nil {
		p.latest.compare(p)
	}
	if p.rates != nil {
		if err := p.rates.compare(ctx, p); err != nil {
			return err
		}
	}
	if err := p.compareRejects(ctx); err != nil {
		return err
	}
	for at, n := range p.waiting {
		p.counted(at.day, folded, 0, n)
		p.differ(difference{output: folded, from: at.day.Start(), to: at.day.Start() + tables.Day, rows: n,
			is: readings(0), want: readings(n), reason: at.reason})
	}
	return nil
}

// counted adds to what an output has of a day, and should have.
func (p *pipe) counted(day schema.Day, output string, rows, want int64) {
	at := place{day, output}
	if p.counts[at] == nil {
		p.counts[at] = &Count{Pipeline: p.Name, Output: output}
	}
	c := p.counts[at]
	c.Rows, c.Want = c.Rows+rows, c.Want+want
}

// compared adds an output that is compared.
func (k *look) compared(output string, values, bytes int) {
	if values == 0 {
		return // it became empty
	}
	if k.seen == nil {
		k.seen = map[string]*Compared{}
	}
	if k.seen[output] == nil {
		k.seen[output] = &Compared{Output: output}
	}
	c := k.seen[output]
	c.Rows, c.Values, c.Bytes = c.Rows+1, c.Values+int64(values), c.Bytes+int64(bytes)
}

// found returns what was found.
func (k *look) found() Device {
	d := Device{Tenant: k.member.Tenant, Device: k.member.Device, Days: []Day{}, Differences: []Difference{},
		Compared: []Compared{}}
	for _, name := range slices.Sorted(maps.Keys(k.seen)) {
		d.Compared = append(d.Compared, *k.seen[name])
	}
	for _, p := range k.pipes {
		for at := range p.counts {
			if !slices.ContainsFunc(k.days, func(d *Day) bool { return d.Day == at.day.String() }) {
				k.days = append(k.days, &Day{Day: at.day.String(), Counts: []Count{}})
			}
		}
		d.Differences = append(d.Differences, p.explained()...)
	}
	slices.SortFunc(k.days, func(a, b *Day) int { return strings.Compare(a.Day, b.Day) })
	for _, day := range k.days {
		of, _ := schema.ParseDay(day.Day)
		day.Sealed = len(k.pipes) > 0
		for _, p := range k.pipes {
			_, sealed := p.track.over(of.Start(), of.Start()+tables.Day)
			day.Sealed = day.Sealed && sealed
			for _, output := range p.outputs() {
				if c := p.counts[place{of, output}]; c != nil {
					day.Counts = append(day.Counts, *c)
				}
			}
		}
		d.Days = append(d.Days, *day)
	}
	return d
}

// outputs returns the names of what is counted, in the order in which it is printed.
func (p *pipe) outputs() []string {
	all := []string{folded}
	if p.latest != nil {
		all = append(all, latest)
	}
	for _, s := range p.series {
		all = append(all, s.output)
	}
	for _, b := range p.buckets {
		all = append(all, b.output)
	}
	return all
}

// deleted returns the time below which outputs may be deleted.
func (p *pipe) deleted(from Table, w schema.Window) tables.Ticks {
	if p.Kept == nil || from == 0 {
		return 0
	}
	kept := p.Kept(p.member, from, w)
	if kept == 0 {
		return 0
	}
	return (p.now.Add(-kept) + tables.Hour).Floor(tables.Day) // whoever deletes may have another clock
}
