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
	numbers  numbering
	shelf    *shelf // nil: nothing is compared with the archive
	stored   map[schema.Day]*storedDay
}

// looks is how often a device is looked at that changes meanwhile.
const looks = 6

// device verifies a device, and looks again if it has changed meanwhile and something differs.
func (c *Config) device(ctx context.Context, m schema.Member, s *shelf) (found Device, err error) {
	for n := 1; ; n++ {
		k := &look{Config: c, member: m, model: c.Model(m), from: c.From, to: c.To, shelf: s}
		if err := k.do(ctx); err != nil {
			return found, err
		}
		found = k.found()
		found.Looks = n
		if found.Unexplained() == 0 {
			return found, nil
		}
		again, changed, err := k.changed(ctx)
		if err != nil {
			return found, err
		}
		now, admitted, err := c.admitted(ctx)
		if err != nil || !changed && !admitted {
			return found, err
		}
		if n == looks {
			found.unsteady()
			return found, nil
		}
		m, c = again, now
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
		day.Stored++
		k.number(&r)
		k.count(&r)
		for _, p := range k.pipes {
			if err := p.row(&r); err != nil {
				return err
			}
		}
		if r.refused {
			day.Rejected++
		}
	}
	k.made(k.numbers.counter.End())
	for _, p := range k.pipes {
		if err := p.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// day returns the day of a row. Rows come in the order of time.
func (k *look) day(d schema.Day) *Day {
	if n := len(k.days); n == 0 || k.days[n-1].Day != d.String() {
		k.days = append(k.days, &Day{Day: d.String(), Counts: []Count{}})
	}
	return k.days[len(k.days)-1]
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
	d := Device{Tenant: k.member.Tenant, Device: k.member.Device, Days: []Day{},
		Differences: append([]Difference{}, k.numbers.missing...), Compared: []Compared{},
		Place: k.member.Place(), stored: k.stored}
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
