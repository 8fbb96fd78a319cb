package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Schedule expects a reading around stated times of every day, in the device's own zone. It holds when a time has
// passed without one, and clears with the next reading that is as expected.
type Schedule struct {
	Times  string               `yaml:"times,required" is:"times"` // of the day, such as 08:00, 20:00; or labels.NAME
	Zone   string               `yaml:"zone,required" want:"a time zone such as Europe/Rome, or labels.NAME"`
	Before time.Duration        `yaml:"before" least:"1s" most:"1d"`
	After  time.Duration        `yaml:"after,required" least:"1m" most:"1d"`
	Expect *condition.Condition `yaml:"expect,required"`
	// Pause has the dates on which nothing is expected, in the device's own zone; empty: there are none.
	Pause string `yaml:"pause" want:"dates such as 2026-12-20..2027-01-03, separated by commas, or labels.NAME"`

	zones sync.Map // locations by name
}

// maxDoses is how many times of a day there can be, and missedFor how long after a time it is still looked at: a device
// that comes back after a year has not missed each day of that year.
const (
	maxDoses  = 24
	missedFor = 31 * tables.Day
)

const ofLabel = "labels."

// Name is schedule.
func (*Schedule) Name() string   { return "schedule" }
func (*Schedule) room() int      { return 9*maxDoses + 20 }
func (*Schedule) sensor() string { return "" }

func (k *Schedule) String() string {
	text := fmt.Sprintf("%s at %s, %s, from %s before to %s after", k.Expect, k.Times, k.Zone,
		schema.FormatDuration(k.Before), schema.FormatDuration(k.After))
	if k.Pause != "" {
		text += ", but not on " + k.Pause
	}
	return text
}

func (k *Schedule) says(_ *work, t *tracked) string { return "nothing as expected at " + t.value }

func (k *Schedule) check() error {
	if k.Before+k.After > 24*time.Hour {
		return errors.New("before and after; want at least 1m after, and at most 1d together")
	}
	if !strings.HasPrefix(k.Times, ofLabel) {
		if _, err := parseTimes(k.Times); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(k.Zone, ofLabel) {
		if _, err := k.location(k.Zone); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(k.Pause, ofLabel) {
		if _, err := parsePauses(k.Pause); err != nil {
			return err
		}
	}
	return hasSensors(k.Expect)
}

// A pause is a time, as a clock on the wall shows it.
type pause struct{ from, to tables.Ticks }

// parsePauses parses dates and ranges of dates, such as 2026-12-20..2027-01-03, 2027-02-01.
func parsePauses(s string) (all []pause, err error) {
	for one := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		first, last, is := strings.Cut(one, "..")
		if !is {
			last = first
		}
		from, errFrom := time.Parse(time.DateOnly, first)
		to, errTo := time.Parse(time.DateOnly, last)
		if errFrom != nil || errTo != nil || to.Before(from) {
			return nil, fmt.Errorf("pause %q; want dates such as 2026-12-20..2027-01-03", clip(one, 30))
		}
		all = append(all, pause{tables.TicksOf(from), tables.TicksOf(to) + tables.Day})
	}
	return all, nil
}

// pauses returns those of a device. Without the label, or with one that cannot be read, there are none.
func (k *Schedule) pauses(d schema.Member) []pause {
	text, _ := stated(k.Pause, d)
	all, _ := parsePauses(text)
	return all
}

// stated reports whether there are times and a zone of a device.
func (k *Schedule) stated(d schema.Member) bool {
	_, _, err := k.timesOf(d)
	return err == nil
}

// stated returns what a rule states for a device: a text, or that of a label.
func stated(what string, d schema.Member) (string, error) {
	name, is := strings.CutPrefix(what, ofLabel)
	if !is {
		return what, nil
	}
	value, ok := d.Labels[name]
	if !ok {
		return "", fmt.Errorf("the device has no label %s", name)
	}
	return value, nil
}

// parseTimes parses times of the day, such as 08:00, 20:00.
func parseTimes(s string) (all []time.Duration, err error) {
	for _, one := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		t, err := time.Parse("15:04", one)
		if err != nil {
			return nil, fmt.Errorf("time %q; want times of the day such as 08:00, 20:00", clip(one, 20))
		}
		all = append(all, time.Duration(t.Hour())*time.Hour+time.Duration(t.Minute())*time.Minute)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 || len(all) > maxDoses {
		return nil, fmt.Errorf("%d times of the day; want 1 to %d, such as 08:00, 20:00", len(all), maxDoses)
	}
	return all, nil
}

// location returns a zone.
func (k *Schedule) location(name string) (*time.Location, error) {
	if l, ok := k.zones.Load(name); ok {
		return l.(*time.Location), nil
	}
	l, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("zone %q; want the name of a time zone such as Europe/Rome", clip(name, 40))
	}
	k.zones.Store(name, l)
	return l, nil
}

// timesOf returns the times and the zone of a device.
func (k *Schedule) timesOf(d schema.Member) (times []time.Duration, zone *time.Location, err error) {
	text, errTimes := stated(k.Times, d)
	name, errZone := stated(k.Zone, d)
	if err := errors.Join(errTimes, errZone); err != nil {
		return nil, nil, err
	}
	if times, err = parseTimes(text); err != nil {
		return nil, nil, err
	}
	zone, err = k.location(name)
	return times, zone, err
}

func (*Schedule) begin(w *work, t *tracked) { t.from = w.begins }

// moved heeds another zone, other times or other pauses of a device. What has passed by them already is not looked at.
func (k *Schedule) moved(w *work, t *tracked) {
	is := ""
	if times, zone, err := k.timesOf(w.member); err == nil {
		is = fmt.Sprint(zone, times)
	}
	if pauses := k.pauses(w.member); len(pauses) > 0 {
		is += fmt.Sprint(pauses)
	}
	is = fmt.Sprintf("%016x", hashOf(is))
	if t.text != "" && t.text != is {
		t.heard = w.begins
	}
	t.text = is
}

// A dose is one of the times of a day.
type dose struct {
	at   tables.Ticks
	wall tables.Ticks // what the device's clock shows then: it tells doses apart, in whatever zone
	of   tables.Ticks // what it should show: an earlier time if the clock skips that
}

// unjudged returns the doses of the days around a moment that are not judged yet, by the clock.
func (k *Schedule) unjudged(w *work, t *tracked, around tables.Ticks) (all []dose) {
	times, zone, err := k.timesOf(w.member)
	if err != nil {
		return nil
	}
	day, pauses := wallOf(around, zone), k.pauses(w.member)
	day -= day % tables.Day
	for n := tables.Ticks(-1); n <= 2; n++ {
		for _, of := range times {
			d := dose{of: day + n*tables.Day + ticks(of)}
			d.at = atWall(d.of, zone)
			d.wall = wallOf(d.at, zone)
			if slices.ContainsFunc(pauses, func(p pause) bool { return p.from <= d.of && d.of < p.to }) {
				continue
			}
			if d.wall > t.judged && d.at-ticks(k.Before) >= t.from && d.at+ticks(k.After) >= t.heard {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b dose) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.of, a.of)) })
	return slices.CompactFunc(all, func(a, b dose) bool { return a.at == b.at }) // the clock skips one: both are the same
}

// start returns the moment from which doses are looked at.
func (k *Schedule) start(w *work, t *tracked) tables.Ticks {
	start := max(t.from, t.heard, w.to-missedFor)
	if _, zone, err := k.timesOf(w.member); err == nil && t.judged > 0 {
		start = max(start, atWall(t.judged, zone))
	}
	return start
}

func (k *Schedule) row(w *work, t *tracked, s *fold.Sample) {
	if _, ok := concerns(k.Expect, s); !ok || !w.meets(k.Expect, s) {
		return
	}
	at := s.Key.Ticks
	for _, d := range k.unjudged(w, t, at) {
		if d.at-ticks(k.Before) <= at && at < d.at+ticks(k.After) && !slices.Contains(t.times, d.wall) {
			t.times = append(t.times, d.wall)
			break
		}
	}
	if t.open() {
		w.close(t, at, "")
	}
}

// first returns the first dose that is not judged. Where a pause covers the days around the start, it is one after the
// end of a pause.
func (k *Schedule) first(w *work, t *tracked) (d dose, is bool) {
	starts := []tables.Ticks{k.start(w, t)}
	if _, zone, err := k.timesOf(w.member); err == nil {
		for _, p := range k.pauses(w.member) {
			if end := atWall(p.to, zone); end > starts[0] {
				starts = append(starts, end)
			}
		}
	}
	slices.Sort(starts)
	for _, start := range starts {
		if all := k.unjudged(w, t, start); len(all) > 0 {
			return all[0], true
		}
	}
	return d, false
}

// next returns the last tick of the first window that is not judged. What comes at its end comes after it.
func (k *Schedule) next(w *work, t *tracked) tables.Ticks {
	if d, is := k.first(w, t); is {
		return d.at + ticks(k.After) - 1
	}
	return tables.MaxTicks
}

// judge judges a dose that is over.
func (k *Schedule) judge(w *work, t *tracked, at tables.Ticks) {
	at++ // the end of the window
	d, _ := k.first(w, t)
	t.judged = d.wall
	met := slices.Contains(t.times, d.wall)
	t.times = slices.DeleteFunc(t.times, func(wall tables.Ticks) bool { return wall <= d.wall })
	if met {
		return
	}
	if t.open() {
		w.close(t, max(at, t.at), reasonNext)
	}
	t.since = max(d.at, 1)
	t.value = d.of.Time().Format("15:04")
	w.open(t, at, false)
}
