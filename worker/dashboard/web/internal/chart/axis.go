package chart

import (
	"cmp"
	"fmt"
	"time"
)

const day = 24 * time.Hour

// timeAxis draws round times, as many as their labels have room for.
func (d *drawing) timeAxis() {
	ticks, months := ticks(d.From, d.To, max(2, (d.edge-left)/74))
	base := d.size.Height - bottom
	d.out.WriteString(`<g class="times">`)
	for _, t := range ticks {
		label, class := t.Format("15:04"), ""
		if h, m, _ := t.Clock(); h == 0 && m == 0 {
			label, class = t.Format("2 Jan"), "day"
		}
		if months && t.Month() == time.January {
			label = t.Format("2006")
		}
		x := d.x(t)
		if x > float64(d.edge-16) {
			class += " last" // ends where the axis does
		}
		fmt.Fprintf(&d.out, `<path d="M%.1f %dV%d"/><text class="%s" x="%.1f" y="%d">%s</text>`, x, base, base+4, class, x,
			base+16, label)
	}
	d.out.WriteString(`</g>`)
}

// ticks returns at most about n round times, and whether they are first days of months.
func ticks(from, to time.Time, n int) (all []time.Time, months bool) {
	from, to = from.UTC(), to.UTC()
	span := to.Sub(from)
	for _, step := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute,
		5 * time.Minute, 10 * time.Minute,
		15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day,
		2 * day, 3 * day, 7 * day, 14 * day} {
		if span/step >= time.Duration(n) {
			continue
		}
		for t := from.Truncate(step); !t.After(to); t = t.Add(step) {
			if !t.Before(from) {
				all = append(all, t)
			}
		}
		return all, false
	}
	step, next := 1, map[int]int{2: 3, 3: 6} // or else twice as many months: steps fit into a year
	for span/(30*day*time.Duration(step)) >= time.Duration(n) {
		step = cmp.Or(next[step], 2*step)
	}
	for t := time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC); !t.After(to); t = t.AddDate(0, step, 0) {
		if !t.Before(from) {
			all = append(all, t)
		}
	}
	return all, true
}
