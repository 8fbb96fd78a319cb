package tracking

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"furrow/jobs/coverage"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// Lengths of a ledger's spans. Most late rows are hours late, and few more than a week, when a day is narrow enough to
// look for them.
const (
	keepHours = 8 * tables.Day
)

// A Ledger counts the rows of one device that the checkpoint has passed, folded or rejected, by the time span of their
// row keys. An audit counts the rows that storage has in a span: if there are more than in the ledger, some arrived
// after the checkpoint had passed. The zero Ledger is empty.
type Ledger struct {
	spans []span // by start, not empty, not overlapping
}

type span struct {
	start tables.Ticks
	long  bool // a day, otherwise an hour
	count int64
}

func (s span) endsAt() tables.Ticks {
	if s.long {
		return s.start + tables.Day
	}
	return s.start + tables.Hour
}

func (s span) window() coverage.Window { return coverage.Window{From: s.start, To: s.endsAt()} }

// Clone returns a copy.
func (l *Ledger) Clone() *Ledger { return &Ledger{spans: slices.Clone(l.spans)} }

// Add counts one row.
func (l *Ledger) Add(rowKey string) { l.add(tables.TicksBefore(rowKey), 1) }

// find returns the index of the span that a moment lies in, or of the next one.
func (l *Ledger) find(at tables.Ticks) (int, bool) {
	return slices.BinarySearchFunc(l.spans, at, func(s span, at tables.Ticks) int {
		switch {
		case s.endsAt() <= at:
			return -1
		case s.start > at:
			return 1
		}
		return 0
	})
}

func (l *Ledger) add(at tables.Ticks, n int64) {
	i, found := l.find(at)
	if found {
		l.spans[i].count += n
		return
	}
	l.spans = slices.Insert(l.spans, i, span{start: at - at%tables.Hour, count: n})
}

// Count returns the number of rows with row keys in [from, to). Both must be bounds of spans, such as Spans returns.
func (l *Ledger) Count(from, to tables.Ticks) (n int64) {
	for _, s := range l.spans {
		if s.start >= from && s.endsAt() <= to {
			n += s.count
		}
	}
	return n
}

// Days yields the number of rows of each day, hour by hour where those are told apart.
func (l *Ledger) Days() iter.Seq2[schema.Day, int64] {
	return func(yield func(schema.Day, int64) bool) {
		for _, s := range l.spans {
			if !yield(schema.DayOf(s.start), s.count) {
				return
			}
		}
	}
}

// compare returns, for each of the ledger's spans within a window, how many more rows were counted there. A new span is
// an hour.
func (l *Ledger) compare(counted *Ledger, in coverage.Window) map[coverage.Window]int64 {
	more := map[coverage.Window]int64{}
	for _, s := range l.spans {
		if w := s.window(); w.From >= in.From && w.To <= in.To {
			more[w] -= s.count
		}
	}
	for _, s := range counted.spans {
		w := s.window()
		if i, found := l.find(s.start); found {
			w = l.spans[i].window()
		}
		if w.From >= in.From && w.To <= in.To { // otherwise only part of it was counted
			more[w] += s.count
		}
	}
	return more
}

// Late returns the spans of some windows in which counted has more rows than the ledger, in order, and how many rows it
// lacks elsewhere.
func (l *Ledger) Late(counted *Ledger, in []coverage.Window) (late []coverage.Window, missing int64) {
	for _, part := range in {
		for w, n := range l.compare(counted, part) {
			if n > 0 {
				late = append(late, w)
			}
			missing += max(-n, 0)
		}
	}
	slices.SortFunc(late, func(a, b coverage.Window) int { return cmp.Compare(a.From, b.From) })
	return late, missing
}

// Differences returns the spans in which counted has another number of rows.
func (l *Ledger) Differences(counted *Ledger, in coverage.Window) (all []coverage.Window) {
	for w, n := range l.compare(counted, in) {
		if n != 0 {
			all = append(all, w)
		}
	}
	return all
}

// equalIn reports whether two ledgers agree on a window, whatever their spans.
func (l *Ledger) equalIn(o *Ledger, in coverage.Window, now tables.Ticks) bool {
	spans := func(l *Ledger) []span {
		c := l.Clone()
		c.Compact(now)
		return slices.DeleteFunc(c.spans, func(s span) bool { return !in.Meets(s.window()) })
	}
	return slices.Equal(spans(l), spans(o))
}

// From returns a copy of the part of the ledger from a moment on, with the span in which that lies.
func (l *Ledger) From(at tables.Ticks) *Ledger {
	return &Ledger{spans: slices.DeleteFunc(slices.Clone(l.spans), func(s span) bool { return s.endsAt() <= at })}
}

// replace replaces the ledger's counts in a window by others, and returns how many more rows those are. The window ends
// at the bounds of days.
func (l *Ledger) replace(w coverage.Window, counted *Ledger) (more int64) {
	l.spans = slices.DeleteFunc(l.spans, func(s span) bool {
		gone := s.start >= w.From && s.endsAt() <= w.To
		if gone {
			more -= s.count
		}
		return gone
	})
	for _, s := range counted.spans {
		if s.start >= w.From && s.endsAt() <= w.To {
			l.add(s.start, s.count)
			more += s.count
		}
	}
	return more
}

// Compact joins hours that are more than eight days older than now into days. So the ledger stays small: at most some
// 200 hours, and a day for each day that a token still admits.
func (l *Ledger) Compact(now tables.Ticks) {
	limit := now - keepHours
	limit -= limit % tables.Day
	var out []span
	for _, s := range l.spans {
		if s.endsAt() <= limit && !s.long {
			s = span{start: s.start - s.start%tables.Day, long: true, count: s.count}
		}
		if last := len(out) - 1; last >= 0 && out[last].long && s.start < out[last].endsAt() {
			out[last].count += s.count
			continue
		}
		out = append(out, s)
	}
	l.spans = out
}

// Drop removes the spans of a window of whole days. They are sealed.
func (l *Ledger) Drop(w coverage.Window) {
	l.spans = slices.DeleteFunc(l.spans, func(s span) bool { return s.start >= w.From && s.endsAt() <= w.To })
}

// Spans returns the bounds of the counted spans in order, each as [from, to).
func (l *Ledger) Spans() [][2]tables.Ticks {
	out := make([][2]tables.Ticks, len(l.spans))
	for i, s := range l.spans {
		out[i] = [2]tables.Ticks{s.start, s.endsAt()}
	}
	return out
}

// Append encodes the ledger. A span takes a few bytes.
func (l *Ledger) Append(b []byte) []byte {
	b = pack.Int(append(b, ledgerVersion), len(l.spans))
	var before tables.Ticks
	for _, s := range l.spans {
		length := 0
		if s.long {
			length = 1
		}
		b = pack.Int(b, int64((s.start-before)/tables.Hour))
		b = pack.Int(pack.Int(b, length), s.count)
		before = s.start
	}
	return b
}

const ledgerVersion = 1

var errLedger = errors.New("the ledger is damaged, or of a version that this program does not know")

// ParseLedger reads what Append wrote. No bytes are an empty ledger.
func ParseLedger(b []byte) (*Ledger, error) {
	l := &Ledger{}
	if len(b) == 0 {
		return l, nil
	}
	if b[0] != ledgerVersion {
		return nil, errLedger
	}
	r := pack.NewReader(b[1:])
	var before tables.Ticks
	for range r.Count() {
		hours := r.Int()
		s := span{start: before + tables.Ticks(hours)*tables.Hour, long: r.Int() == 1, count: r.Int()}
		overlaps := len(l.spans) > 0 && s.start < l.spans[len(l.spans)-1].endsAt()
		if hours < 0 || hours > int64(tables.MaxTicks/tables.Hour) || s.start > tables.MaxTicks || s.count <= 0 || overlaps ||
			s.long && s.start%tables.Day != 0 {
			return nil, errLedger
		}
		l.spans = append(l.spans, s)
		before = s.start
	}
	if r.Err() != nil {
		return nil, errLedger
	}
	return l, nil
}
