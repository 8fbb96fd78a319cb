package made

import (
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Counter counts the rows of one device. The zero value is ready to use.
type Counter struct {
	days   map[tables.Ticks]*Day
	boots  boots
	booted bool // there was a boot before, of whichever name
	closed bool // a boot was closed to make room, so a new one may be no new one
}

// Bounds of what a Counter holds.
const (
	mostDays      = 400
	mostStretches = 4096
)

const day = tables.Ticks(24 * time.Hour / 100)

// Take counts a row. Rows come in the order of their keys. The number is that of the property that the device's model
// names, if the row has one. It counts where the key has none.
func (c *Counter) Take(key schema.RowKey, number uint64, has bool) {
	d := c.day(key.Ticks)
	n, numbered := key.Number()
	switch {
	case numbered:
		d.ByKey++
		d.count(n.N)
		c.countIn(c.boot(n, d), n.N, key.Ticks)
		if has && c.boots.named(inProperty) != nil { // the device numbers in two ways, and may go back to this one
			c.takeAnew(number, key.Ticks)
		}
	case has:
		d.count(number)
		c.takeProperty(number, key.Ticks, d)
	default:
		d.Unnumbered++
	}
	c.makeRoom()
}

// Break says that rows between the last one and the next one are not given, because the device belonged to another
// tenant. Nothing is missing between them.
func (c *Counter) Break() {
	for b := c.boots.oldest(); b != nil; b = c.boots.oldest() {
		c.close(b, false)
	}
	*c = Counter{days: c.days}
}

// Over returns days that no further row changes, in order, and forgets them. A caller that does not call it has the
// Counter hold all days.
func (c *Counter) Over() (over []Day) {
	for len(c.days) > mostDays {
		first := slices.Min(slices.Collect(maps.Keys(c.days)))
		for b := range c.boots.all() {
			c.closeGaps(b, first+day, false)
		}
		over = append(over, *c.days[first])
		delete(c.days, first)
	}
	return over
}

// End returns the remaining days, in order. It comes after the last row.
func (c *Counter) End() (rest []Day) {
	c.Break()
	for _, start := range slices.Sorted(maps.Keys(c.days)) {
		rest = append(rest, *c.days[start])
	}
	*c = Counter{}
	return rest
}

// day returns the day of a time.
func (c *Counter) day(at tables.Ticks) *Day {
	start := at - at%day
	d := c.days[start]
	if d == nil {
		if c.days == nil {
			c.days = map[tables.Ticks]*Day{}
		}
		d = &Day{Start: start}
		c.days[start] = d
	}
	return d
}

// boot returns the boot of a number. The first one may have begun before the span, and so may any one while some are
// forgotten.
func (c *Counter) boot(n schema.Number, d *Day) *boot {
	b := c.boots.named(n.Boot)
	if b != nil {
		return b
	}
	if c.booted {
		d.Restarts++
		d.Unsure = d.Unsure || c.closed && n.N > 1
	}
	b = c.boots.add(&boot{name: n.Boot, begins: c.booted && !c.closed})
	c.booted = true
	return b
}

// countIn counts a number in its boot.
func (c *Counter) countIn(b *boot, n uint64, at tables.Ticks) {
	before := len(b.seen)
	if !b.addNumber(n, at) {
		c.day(at).Repeated++
	}
	c.boots.stretches += len(b.seen) - before
}

// makeRoom closes the boots whose last row is the oldest, or gaps of the only one, until there is room.
func (c *Counter) makeRoom() {
	for c.boots.stretches > mostStretches {
		b := c.boots.oldest()
		if len(b.seen) == c.boots.stretches {
			c.closeGap(b, 1, true)
			continue
		}
		c.close(b, true)
		c.closed = true
	}
}

// close counts the gaps of a boot and forgets it.
func (c *Counter) close(b *boot, early bool) {
	c.closeGaps(b, tables.MaxTicks, early)
	c.boots.remove(b)
}

// closeGaps counts the gaps of a boot before rows up to a time, and takes them as filled.
func (c *Counter) closeGaps(b *boot, until tables.Ticks, early bool) {
	if first := b.seen[0]; b.begins && first.first < until {
		if b.begins = false; first.from > 1 {
			c.miss(Gap{Boot: b.name, From: 1, To: first.from - 1, Before: first.first}, early)
		}
	}
	for i := len(b.seen) - 1; i > 0; i-- {
		if b.seen[i].first < until {
			c.closeGap(b, i, early)
		}
	}
}

// closeGap counts the gap before a stretch, and joins it with the one before.
func (c *Counter) closeGap(b *boot, i int, early bool) {
	low, high := &b.seen[i-1], b.seen[i]
	c.miss(Gap{b.name, low.to + 1, high.from - 1, low.last, high.first}, early)
	low.to, low.last = high.to, high.last
	b.seen = slices.Delete(b.seen, i, i+1)
	c.boots.stretches--
}

func (c *Counter) miss(g Gap, early bool) {
	d := c.day(g.Before)
	d.miss(g)
	d.Unsure = d.Unsure || early
}
