package coverage

import (
	"slices"
	"time"

	"furrow/tables"
)

// A Reason says why a day is to be made again. Reasons add up.
type Reason uint16

// The order is stored.
const (
	Late      Reason = 1 << iota // rows came after the checkpoint had passed
	Settings                     // it was folded under other settings
	Import                       // somebody has imported rows
	Move                         // rows belong to another tenant than before
	Rewind                       // somebody asked for it
	Uncounted                    // rows may have come since it was sealed, and its counts are gone
	Attempt                      // an attempt under other settings may have left outputs
	Begun                        // its neighbour was made again, and open windows go on here
	Joined                       // it lies between two stale days, and there were too many parts
	Clock                        // rows of the future were folded
	Rebuild                      // merging outputs, which are rebuilt, need its rows
)

// A Part is successive days with the same in common.
type Part struct {
	Window      // of whole days
	Sealed bool // nothing can add a row, and all that it had are in its outputs
	Why    Reason
}

// Stale reports whether the days are to be made again.
func (p Part) Stale() bool { return p.Why != 0 }

// plain reports whether nothing is known of the days.
func (p Part) plain() bool { return !p.Sealed && !p.Stale() }

// Known is what the audit knew that sealed last.
type Known struct {
	At   tables.Ticks  // when it began, by the earliest of all clocks; 0: an older version has sealed
	Late time.Duration // age of the oldest row that tokens admitted
}

// A Repeat has days made again once more, after all that may still be under way has arrived.
type Repeat struct {
	Window
	At tables.Ticks
}

// A Coverage is what the outputs of a device's days are worth. The zero Coverage has no day that is sealed, and none
// that is stale. It is a value: a copy is not changed by what is done to the original.
type Coverage struct {
	// Watermark is the time below which rows may be gone. Days below it are never made again.
	Watermark tables.Ticks
	Known     Known
	Repeat    Repeat
	// RebuildTo is the time up to which merging outputs are rebuilt, from the days with that reason; 0: they are not.
	RebuildTo tables.Ticks

	events int64  // grows with all that makes days stale
	parts  []Part // in order, none of them plain; never changed in place
}

// end is the end of all days.
const end = tables.MaxTicks + 1

// Parts returns the parts of a window, in order, without gaps. At its bounds they are cut.
func (c Coverage) Parts(w Window) (all []Part) {
	add := func(p Part) {
		if p.Window = p.And(w); !p.Empty() {
			all = append(all, p)
		}
	}
	var at tables.Ticks
	for _, p := range c.parts {
		add(Part{Window: Window{at, p.From}})
		add(p)
		at = p.To
	}
	add(Part{Window: Window{at, end}})
	return all
}

// Next returns the first days that are to be made again; empty: there are none.
func (c Coverage) Next() (w Window) {
	for _, p := range c.parts {
		switch {
		case !p.Stale() && w.Empty():
		case w.Empty():
			w = p.Window
		case p.Stale() && p.From == w.To:
			w.To = p.To
		default:
			return w.And(Window{c.Watermark, end})
		}
	}
	return w.And(Window{c.Watermark, end})
}

// Hull returns a window with all days that are to be made again for any of some reasons, and maybe others.
func (c Coverage) Hull(why Reason) (w Window) {
	for _, p := range c.parts {
		if p.Why&why == 0 {
			continue
		}
		if w.Empty() {
			w.From = p.From
		}
		w.To = p.To
	}
	return w
}

// Any is all reasons.
const Any = ^Reason(0)

// Open returns the start of the first day that is not both right and sealed, or that is to be made again later, and
// what it is; or to, if that is lower.
func (c Coverage) Open(to tables.Ticks) (at tables.Ticks, is Part) {
	at = to
	for _, p := range c.Parts(Window{c.Watermark, max(c.Watermark, to)}) {
		if !p.Sealed || p.Stale() {
			at, is = p.From, p
			break
		}
	}
	if r := c.Repeat; !r.Empty() && max(r.From, c.Watermark) < at && r.To > c.Watermark {
		at, is = max(r.From, c.Watermark), Part{r.Window, false, Attempt}
	}
	return at, is
}

// uncounted are the reasons for which the ledger need not have the rows that outputs were made of.
const uncounted = Import | Move | Uncounted | Joined | Clock

// Counted returns the parts of a window where the ledger has the rows that outputs were made of. Some may be stale.
func (c Coverage) Counted(w Window) []Window {
	return c.those(w, func(p Part) bool { return !p.Sealed && p.Why&uncounted == 0 })
}

// Sealable returns the parts of a window that are right, and not sealed.
func (c Coverage) Sealable(w Window) []Window { return c.those(w, Part.plain) }

func (c Coverage) those(w Window, are func(Part) bool) (all []Window) {
	for _, p := range c.Parts(Window{max(w.From, c.Watermark), w.To}) {
		if are(p) {
			all = append(all, p.Window)
		}
	}
	return all
}

// SealedTo returns the end of the days that are sealed from the beginning, and that of the last sealed day of all.
func (c Coverage) SealedTo() (first, last tables.Ticks) {
	for _, p := range c.parts {
		if !p.Sealed {
			continue
		}
		if last = p.To; p.From <= first {
			first = p.To
		}
	}
	return first, last
}

// Same reports whether the same days are stale in both, and nothing has made any stale again meanwhile.
func (c Coverage) Same(o Coverage) bool {
	return c.events == o.events && c.Watermark == o.Watermark && slices.Equal(c.stale(), o.stale())
}

func (c Coverage) stale() (all []Part) {
	for _, p := range c.parts {
		if p.Stale() {
			all = append(all, Part{Window: p.Window, Why: p.Why})
		}
	}
	return all
}

// Equal reports whether two coverages say the same.
func (c Coverage) Equal(o Coverage) bool {
	return c.Watermark == o.Watermark && c.Known == o.Known && c.Repeat == o.Repeat && c.RebuildTo == o.RebuildTo &&
		c.events == o.events && slices.Equal(c.parts, o.parts)
}
