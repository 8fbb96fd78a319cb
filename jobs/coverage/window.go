package coverage

import "furrow/tables"

// A Window is the ticks in [From, To).
type Window struct{ From, To tables.Ticks }

// Empty reports whether there is no tick in the window.
func (w Window) Empty() bool { return w.From >= w.To }

// Meets reports whether two windows have a tick in common.
func (w Window) Meets(o Window) bool { return w.From < o.To && o.From < w.To }

// And returns what two windows have in common.
func (w Window) And(o Window) Window { return Window{max(w.From, o.From), min(w.To, o.To)} }

// Days returns the whole days that the window touches.
func (w Window) Days() Window {
	if w.Empty() {
		return Window{}
	}
	return Window{w.From.Floor(tables.Day), w.To.Ceil(tables.Day)}
}
