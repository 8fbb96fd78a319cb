package tracking

import (
	"furrow/tables"
)

// A Window is the ticks in [from, to).
type Window struct{ From, To tables.Ticks }

func (w Window) Empty() bool { return w.From >= w.To }

func (w Window) Meets(o Window) bool { return w.From < o.To && o.From < w.To }

func (w Window) And(o Window) Window { return Window{max(w.From, o.From), min(w.To, o.To)} }

// With returns the window that covers both.
func (w Window) With(o Window) Window { return Cursor{Window: w}.with(Cursor{Window: o}).Window }
