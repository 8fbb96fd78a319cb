package verify

import (
	"fmt"
	"slices"
	"strings"

	"furrow/tables/made"
	"furrow/tables/schema"
)

const madeOutput = "made"

// A numbering counts the numbers that a device gives its readings.
type numbering struct {
	counter made.Counter
	spans   int // of the membership that have ended before the newest row
	missing []Difference
}

// number counts the number of a row. Between two spans of a membership, the rows are another tenant's.
func (k *look) number(r *reading) {
	if !r.valid {
		return
	}
	n := &k.numbers
	for all := k.member.Spans; n.spans < len(all) && all[n.spans].To != 0 && all[n.spans].To <= r.key.Ticks; n.spans++ {
		n.counter.Break()
	}
	n.counter.Take(r.key, r.number, r.numbered)
	k.made(n.counter.Over())
}

// made notes what the numbers say of days. A day has a row with the number after each that is missing.
func (k *look) made(days []made.Day) {
	for _, d := range days {
		if d.Readings == 0 {
			continue
		}
		name := schema.DayOf(d.Start).String()
		i, _ := slices.BinarySearchFunc(k.days, name, func(d *Day, name string) int { return strings.Compare(d.Day, name) })
		m := &Made{Rows: d.Made(), Missing: d.Missing}
		if k.days[i].Made = m; m.Missing > 0 {
			m.Why = whyMissing(&d)
			k.numbers.missing = append(k.numbers.missing, k.differMade(&d, m))
		}
	}
}

// differMade says that numbers of a day are missing. It stands for all of them, and names the first.
func (k *look) differMade(d *made.Day, m *Made) Difference {
	all := Difference{Tenant: k.member.Tenant, Device: k.member.Device, Day: schema.DayOf(d.Start).String(),
		Output: madeOutput, At: d.Gaps[0].Before.Time(), Rows: m.Missing, Reason: Missing,
		Is: fmt.Sprintf("%d readings in storage", m.Rows-m.Missing), Want: fmt.Sprintf("%d: %s", m.Rows, m.Why)}
	switch {
	case d.Start < k.member.Watermark:
		all.Reason = Retained
	case !k.over(d.Gaps[0]):
		all.Reason = NotDue
	}
	return all
}

// over reports whether the settle time of a gap has passed, in every pipeline: until then, rows may come out of order.
func (k *look) over(g made.Gap) bool {
	return !slices.ContainsFunc(k.pipes, func(p *pipe) bool { return g.Before > k.now.Add(-p.Settle) })
}

// whyMissing names the first gap of a day.
func whyMissing(d *made.Day) string {
	first := d.Gaps[0]
	text := fmt.Sprintf("no row has number %d", first.From)
	if first.To != first.From {
		text = fmt.Sprintf("no row has the numbers %d to %d", first.From, first.To)
	}
	if first.Boot != "" {
		text += " of boot " + first.Boot
	}
	if more := d.Missing - int64(first.To-first.From+1); more > 0 && first.To >= first.From {
		text += fmt.Sprintf(", and %d more are missing", more)
	}
	if d.Unsure {
		text += "; there were too many gaps to follow, so some may have a row"
	}
	return text
}
