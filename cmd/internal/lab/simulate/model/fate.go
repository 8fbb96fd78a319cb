package model

import "time"

// A Fate is a random draw.
type Fate uint64

// Happens tells whether something happens that does in this share of all fates.
func (f Fate) Happens(share float64) bool { return share > 0 && f.Draw(0) < share }

// Draw returns a number from 0 to 1 for each n.
func (f Fate) Draw(n uint64) float64 { return Unit(Hash(uint64(f), n)) }

// A Span is a time in which something happens.
type Span struct {
	From, To time.Time
	Fate
}

// SpanAt returns the span that contains t. A share of the parts of time have one, and none has two. Fate returns the
// fate of a part, which its beginning names.
func SpanAt(t time.Time, share float64, part time.Duration, fate func(part uint64) Fate) (Span, bool) {
	begin := t.Truncate(part)
	f := fate(uint64(begin.Unix()))
	if !f.Happens(share) {
		return Span{}, false
	}
	from := begin.Add(time.Duration(f.Draw(1) * 0.6 * float64(part)))
	s := Span{from, from.Add(time.Duration((0.05 + 0.34*f.Draw(2)) * float64(part))), f}
	return s, !t.Before(s.From) && t.Before(s.To)
}
