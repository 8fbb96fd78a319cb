package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// A Span is a range of row keys: ticks in [From, To). A To of zero means that the span is
// open.
type Span struct {
	From tables.Ticks `json:"from"`
	To   tables.Ticks `json:"to,omitzero"`
}

// Spans are those in which a device belongs to a tenant, in order. Only the last may be open. None are all time.
type Spans []Span

// MemberSpans is the property of a membership, and of its row in a tracking table, that holds its spans.
const MemberSpans = "Spans"

// MaxSpans bounds the spans of a membership, and so how often a device can come back to a tenant.
const MaxSpans = 100

// Has reports whether the device belongs to the tenant at a time.
func (all Spans) Has(at tables.Ticks) bool {
	return len(all) == 0 || slices.ContainsFunc(all, func(s Span) bool {
		return at >= s.From && (s.To == 0 || at < s.To)
	})
}

// Has reports whether the device belongs to the tenant at a time.
func (m Member) Has(at tables.Ticks) bool { return m.Spans.Has(at) }

// PassedTo returns the time below which readings of the device may be gone that were the tenant's: its watermark, or
// the end of the last span below that.
func (m Member) PassedTo() tables.Ticks {
	if len(m.Spans) == 0 {
		return m.Watermark
	}
	for _, s := range slices.Backward(m.Spans) {
		if s.From < m.Watermark {
			return min(cmp.Or(s.To, m.Watermark), m.Watermark)
		}
	}
	return 0
}

// End returns the end of the last span, or zero while that is open.
func (all Spans) End() tables.Ticks {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].To
}

// Within returns the parts of a range of row keys that lie in the spans, in order. A row key that is no time lies where
// storage sorts it.
func (all Spans) Within(keys tables.Keys) []tables.Keys {
	if len(all) == 0 {
		return []tables.Keys{keys}
	}
	var parts []tables.Keys
	for _, s := range all {
		part := keys
		if from := s.From.String(); s.From > 0 && from > part.From {
			part.From = from
			if part.From > part.After {
				part.After = ""
			}
		}
		if s.To != 0 && (part.Before == "" || s.To.String() < part.Before) {
			part.Before = s.To.String()
		}
		from := max(part.From, part.After)
		if part.Before != "" && from >= part.Before || part.To != "" && from > part.To {
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// Until returns the spans up to a time.
func (all Spans) Until(at tables.Ticks) Spans {
	if len(all) == 0 {
		return Spans{{To: at}}
	}
	out := slices.Clone(all)
	out[len(out)-1].To = at
	return out
}

// Join returns the spans in which the device belongs to one of two tenants.
func (all Spans) Join(others Spans) (out Spans) {
	if len(all) == 0 || len(others) == 0 {
		return nil
	}
	both := slices.Concat(all, others)
	slices.SortFunc(both, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range both {
		if last := len(out) - 1; last >= 0 && out[last].To == s.From {
			out[last].To = s.To
		} else {
			out = append(out, s)
		}
	}
	return out
}

// Differ returns the first time that lies in only one of two lists of spans, and whether there is one.
func (all Spans) Differ(others Spans) (at tables.Ticks, differ bool) {
	times := []tables.Ticks{0}
	for _, s := range slices.Concat(all, others) {
		times = append(times, s.From, s.To)
	}
	slices.Sort(times)
	for _, t := range times {
		if all.Has(t) != others.Has(t) {
			return t, true
		}
	}
	return 0, false
}

// String returns the spans as stored, empty for all time.
func (all Spans) String() string {
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all) // it has numbers only
	return string(text)
}

// ParseSpans parses the result of String.
func ParseSpans(s string) (all Spans, err error) {
	if s == "" {
		return nil, nil
	}
	if err = json.Unmarshal([]byte(s), &all); err != nil {
		err = fmt.Errorf("spans %s: %w", tables.Quote(s), err)
	}
	return all, cmp.Or(err, all.check())
}

// check checks that spans are in order and do not overlap. Only the last may be open.
func (all Spans) check() error {
	for i, s := range all {
		switch {
		case s.From < 0, s.To != 0 && s.To <= s.From, i > 0 && s.From < all[i-1].To:
			return fmt.Errorf("span %d, from %d to %d, is empty or out of order", i+1, s.From, s.To)
		case s.To == 0 && i < len(all)-1:
			return errors.New("a span that is not the last one is open")
		}
	}
	return nil
}

// Settled reports whether nothing was left to do for a row of the table fleet, according to its row of a tracking
// table: the device belongs to another tenant, and every row of its spans that tokens admitted then is folded. It
// returns the membership, as tokens may admit older rows now, or settings may differ.
func Settled(member, track tables.Entity) (m Member, settled bool) {
	spans := member.Get(MemberSpans)
	if spans == (tables.Value{}) || track.Get(MemberSpans) != spans || !track.Get(TrackSettled).Boolean() {
		return m, false
	}
	m, err := MemberOf(member)
	return m, err == nil && !m.Imports.Unknown(tables.Ticks(track.Get(TrackImported).Int()))
}
