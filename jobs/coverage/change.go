package coverage

import (
	"slices"
	"time"

	"furrow/tables"
)

// Stale has the days that a window touches made again, as far as they lie above the watermark.
func (c *Coverage) Stale(w Window, why Reason) {
	c.events++
	c.change(w, func(p *Part) { p.Why |= why })
}

// Reopen has days made again to which rows may be added.
func (c *Coverage) Reopen(w Window, why Reason) {
	c.events++
	c.change(w, func(p *Part) { p.Why, p.Sealed = p.Why|why, false })
}

// Unseal reopens those days of a window that are sealed, and reports whether there are any.
func (c *Coverage) Unseal(w Window, why Reason) (any bool) {
	for _, p := range c.Parts(Window{max(w.From, c.Watermark), w.To}) {
		if p.Sealed {
			c.Reopen(p.Window, why)
			any = true
		}
	}
	return any
}

// Made has the whole days of a window right: they were made again.
func (c *Coverage) Made(w Window) {
	c.change(w, func(p *Part) { p.Why = 0 })
	c.rebuilt()
}

// Rebuild has merging outputs rebuilt up to a time, from all days below.
func (c *Coverage) Rebuild(to tables.Ticks, why Reason) {
	c.RebuildTo = max(c.RebuildTo, to)
	c.Stale(Window{0, to}, why|Rebuild)
	c.rebuilt()
}

// rebuilt ends the rebuilding when all days are passed that it needs.
func (c *Coverage) rebuilt() {
	if !slices.ContainsFunc(c.parts, func(p Part) bool { return p.Why&Rebuild != 0 }) {
		c.RebuildTo = 0
	}
}

// Seal seals those days of a window that are right, and returns them. By what the caller knows, nothing can add a row
// to them, and their outputs have all that they have. What was sealed before is compared with that, too.
func (c *Coverage) Seal(w Window, known Known) (sealed []Window) {
	c.Admit(known)
	for _, s := range c.Sealable(w) {
		c.change(s, func(p *Part) { p.Sealed = true })
		sealed = append(sealed, s)
	}
	if len(sealed) > 0 {
		c.Known = known
	}
	return sealed
}

// Admit compares what the last audit knew with the age of the oldest row that tokens admit now, and reopens sealed days
// to which rows may have come since. It reports whether there are any. The time is the earliest of all clocks'.
func (c *Coverage) Admit(now Known) (reopened bool) {
	at := c.Known.At
	switch {
	case at == 0: // as older versions compare
		at = now.At
	case now.Late <= c.Known.Late:
		return false
	}
	from := max(0, at.Add(-now.Late)).Floor(tables.Day)
	if reopened = c.Unseal(Window{max(from, c.Watermark), end}, Uncounted); reopened {
		c.Known = Known{at, now.Late}
	}
	return reopened
}

// Again has days made again at a time, once more.
func (c *Coverage) Again(w Window, at tables.Ticks) {
	if w = w.Days(); w.Empty() {
		return
	}
	if !c.Repeat.Empty() {
		w.From, w.To = min(w.From, c.Repeat.From), max(w.To, c.Repeat.To)
	}
	c.Repeat = Repeat{w, max(c.Repeat.At, at)}
}

// Due has the days of a Repeat made again if its time is over, and reports whether anything has changed. If it lies
// further ahead of the latest clock than twice the wait, a clock was wrong, and the wait begins now.
func (c *Coverage) Due(now, latest tables.Ticks, wait time.Duration) bool {
	switch {
	case c.Repeat.Empty():
		return false
	case c.Repeat.At > latest.Add(2*wait):
		c.Repeat.At = latest.Add(wait)
	case c.Repeat.At > now:
		return false
	default:
		c.Stale(c.Repeat.Window, Attempt)
		c.Repeat = Repeat{}
	}
	return true
}

// Raise raises the watermark. The days below stay as they are.
func (c *Coverage) Raise(to tables.Ticks) {
	if to <= c.Watermark {
		return
	}
	c.change(Window{0, to.Floor(tables.Day)}, func(p *Part) { p.Why, p.Sealed = 0, true })
	c.rebuilt()
	c.Watermark = to
}

// Lower lowers the watermark, which was raised while a clock was ahead. No day above is sealed any more. Who lowers it
// has them made again.
func (c *Coverage) Lower(to tables.Ticks) {
	if to >= c.Watermark {
		return
	}
	c.events++
	c.Watermark = to
	c.change(Window{to, end}, func(p *Part) { p.Sealed = false })
}

// change changes the days that a window touches, as far as they lie above the watermark.
func (c *Coverage) change(w Window, to func(*Part)) {
	w = Window{max(w.From, c.Watermark), w.To}.Days()
	var out []Part
	for _, p := range c.Parts(Window{0, end}) {
		for _, cut := range [...]Window{{0, w.From}, w, {w.To, end}} {
			part := p
			if part.Window = part.And(cut); part.Empty() {
				continue
			}
			if cut == w {
				to(&part)
			}
			out = append(out, part)
		}
	}
	c.parts = limited(joined(out))
}

// joined joins equal neighbours, and leaves out plain parts.
func joined(all []Part) (out []Part) {
	for _, p := range all {
		last := len(out) - 1
		switch {
		case p.plain() || p.Empty():
		case last >= 0 && out[last].To == p.From && out[last].Sealed == p.Sealed && out[last].Why == p.Why:
			out[last].To = p.To
		default:
			out = append(out, p)
		}
	}
	return out
}

// MaxParts bounds the parts of a Coverage, and so what a tracking row takes.
const MaxParts = 64

// limited joins neighbours into stale parts that are not sealed where there are too many, first those by which the
// fewest days are made again.
func limited(all []Part) []Part {
	for len(all) > MaxParts {
		best, least := 0, end
		for i := range len(all) - 1 {
			if more := vain(all[i]) + vain(all[i+1]) + all[i+1].From - all[i].To; more < least {
				best, least = i, more
			}
		}
		a, b := all[best], all[best+1]
		all = slices.Replace(all, best, best+2, Part{Window{a.From, b.To}, false, a.Why | b.Why | Joined})
		all = joined(all)
	}
	return all
}

// vain returns how long a part is that need not be made again.
func vain(p Part) tables.Ticks {
	if p.Stale() {
		return 0
	}
	return p.To - p.From
}
