package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A difference is one of a span of time, before it is explained.
type difference struct {
	output, sensor string
	is, want       string
	from, to       tables.Ticks
	rows           int64        // missing, or too many if negative
	many           bool         // it may be of rows too many
	due            tables.Ticks // to is compared with that time, below which an output may be deleted
	reason         Reason       // known already; empty: it is to be explained
	more           int
}

// A spot is where differences are taken together, so that a device with millions of them needs little room.
type spot struct {
	output string
	from   tables.Ticks
	reason Reason
	many   bool // rows are too many
}

// differ notes a difference.
func (p *pipe) differ(d difference) {
	d.many = d.many || d.rows < 0
	at := spot{d.output, d.from.Floor(tables.Hour), d.reason, d.many}
	if first, is := p.spots[at]; is {
		first.more++
		first.rows += d.rows
		first.to = max(first.to, d.to)
		return
	}
	p.spots[at] = &d
}

// differEach notes a difference for each sensor whose text in a row is not what it should be.
func (p *pipe) differEach(d difference, is, want map[string]string) {
	d.many, d.rows = d.rows < 0, 0
	for _, name := range unequal(is, want, strings.Compare) {
		d.sensor, d.is, d.want = name, cmp.Or(is[name], "absent"), cmp.Or(want[name], "absent")
		p.differ(d)
	}
}

// unequal returns, in order, the names under which two rows have different texts.
func unequal[K comparable](is, want map[K]string, compare func(a, b K) int) []K {
	all := map[K]string{}
	maps.Copy(all, is)
	maps.Copy(all, want)
	maps.DeleteFunc(all, func(name K, _ string) bool { return is[name] == want[name] })
	return slices.SortedFunc(maps.Keys(all), compare)
}

// explained returns the differences, with their reasons, by day, output and reason.
func (p *pipe) explained() (all []Difference) {
	type group struct {
		day    schema.Day
		output string
		reason Reason
	}
	places := map[group]int{}
	spots := slices.SortedFunc(maps.Keys(p.spots), func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.output, b.output), cmp.Compare(a.reason, b.reason))
	})
	for _, at := range spots {
		d := p.spots[at]
		if d.reason == "" {
			d.reason = p.explain(d)
		}
		in := group{schema.DayOf(d.from), d.output, d.reason}
		if i, known := places[in]; known {
			all[i].More, all[i].Rows = all[i].More+1+d.more, all[i].Rows+d.rows
			continue
		}
		places[in] = len(all)
		all = append(all, Difference{Tenant: p.member.Tenant, Device: p.member.Device, Day: in.day.String(),
			Pipeline: p.Name, Output: d.output, At: d.from.Time(), Sensor: d.sensor, Is: d.is, Want: d.want,
			Reason: d.reason, Rows: d.rows, More: d.more})
	}
	slices.SortFunc(all, func(a, b Difference) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Output, b.Output), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

// explain returns the reason of a difference in an output.
func (p *pipe) explain(d *difference) Reason {
	switch why, _ := p.track.over(d.from, d.to); {
	case d.to <= d.due:
		return Retained
	case why&whyMove != 0 || p.track.spans.String() != p.member.Spans.String():
		return Moved
	case why == whyLate:
		return Late
	case why != 0 || p.settings != p.track.settings && p.track.settings != "" || p.imports(d.from, d.to):
		return Refold
	case p.track.again.from < d.to && d.from < p.track.again.to:
		return InFlight
	case p.track.unfinished() && d.to > tables.TicksBefore(p.track.Checkpoint):
		return InFlight
	case p.track.Attempts > 0 && d.to > tables.TicksBefore(p.track.Checkpoint):
		return Held
	case !d.many && p.lateIn(d.from, d.to):
		return Late
	}
	return Unknown
}

// imports reports whether an import that the pipeline does not know has rows in a span.
func (p *pipe) imports(from, to tables.Ticks) bool {
	return slices.ContainsFunc(p.member.Imports, func(i schema.Import) bool {
		return i.ID > p.track.imported && i.From < to && from < i.To
	})
}

// lateIn reports whether the next audit will find rows in a span of time, or in the hours that it lies in.
func (p *pipe) lateIn(from, to tables.Ticks) bool {
	return slices.ContainsFunc(p.late, func(c counted) bool { return c.from < to && from < c.to })
}

// checkLedger compares the rows that the checkpoint has passed with the ledger.
func (p *pipe) checkLedger() {
	spans := slices.Clone(p.track.counted)
	for at := range p.hours {
		if !slices.ContainsFunc(spans, func(c counted) bool { return c.from <= at && at < c.to }) {
			spans = append(spans, counted{from: at, to: at + tables.Hour})
		}
	}
	for _, c := range spans {
		if c.to <= p.from || c.from >= p.to || c.from < p.floor {
			continue
		}
		why, sealed := p.track.over(c.from, c.to)
		if sealed {
			continue
		}
		passed, late := int64(0), int64(0)
		for at := c.from; at < c.to; at += tables.Hour {
			passed, late = passed+p.hours[at].rows, late+p.hours[at].late
		}
		p.counted(schema.DayOf(c.from), folded, c.rows, passed)
		d := difference{output: folded, from: c.from, to: c.to, rows: passed - c.rows, is: readings(c.rows),
			want: readings(passed)}
		switch {
		case passed == c.rows:
			continue
		case why&uncounted == 0 && d.rows > 0 && d.rows <= late:
			d.reason = Late
			p.late = append(p.late, c)
		case d.rows < 0:
			d.want = fmt.Sprintf("%s, as storage has no more of them", d.want)
		}
		p.differ(d)
	}
}

const folded = "folded"
