package endpoint

import "time"

// A line tells those who are turned away when to come back: each a little later
// than the one before. Were all told the same, a fleet that boots at once would come
// back at once, again and again. Nothing is kept for those in the line; who comes
// too early, or finds that others were quicker, is given a place at its end.
type line struct{ end time.Time }

// longest is how long a line gets. The next one then stands at its head again:
// twice as many come in the same time, and some are turned away once more, which
// costs less than devices that stay away for hours.
const longest = 5 * time.Minute

// join gives the next place: not before soonest has passed, and every after the one
// that was given before.
func (l *line) join(now time.Time, soonest, every time.Duration) time.Duration {
	l.end = l.end.Add(every)
	if first := now.Add(soonest); l.end.Before(first) || l.end.Sub(now) > longest {
		l.end = first
	}
	return l.end.Sub(now)
}

// length is how long whoever joined last has to wait.
func (l *line) length(now time.Time) time.Duration { return max(0, l.end.Sub(now)) }
