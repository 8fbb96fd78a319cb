package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/cmd/internal/lab/simulate/model"
	"furrow/sas/device"
)

// Each of these parts of a day has at most one outage, and so on.
const (
	quarterDay = 6 * time.Hour
	halfDay    = 12 * time.Hour
)

// A sensing is a probe with dirt.
type sensing struct {
	Fleet
	member Member
	probe  *model.Probe
	stuck  map[string]any // values from when a sensor got stuck
	since  time.Time      // when that was
}

// readingAt returns the reading of a time, with dirt.
func (s *sensing) readingAt(t time.Time) device.Reading {
	r := s.read(s.probe, t)
	s.stick(r, t)
	s.misspell(r, t)
	r.Time = s.clock(t)
	return r
}

// stick makes a sensor repeat an earlier value.
func (s *sensing) stick(r device.Reading, t time.Time) {
	while, ok := s.member.span(aStuckSensor, s.Dirt.Stuck, quarterDay, t)
	if !ok {
		return
	}
	if !s.since.Equal(while.From) {
		s.stuck, s.since = s.probe.Read(while.From), while.From
	}
	name := s.sensor(while.Fate)
	r.Values[name] = s.stuck[name]
}

// sensor picks a sensor of the probe.
func (s *sensing) sensor(f model.Fate) string {
	return model.Sensors(s.Sensors)[int(f.Draw(3)*float64(s.Sensors))]
}

// misspell writes values as other firmware does.
func (s *sensing) misspell(r device.Reading, t time.Time) {
	tick := uint64(t.UnixMilli())
	if f := s.member.fate(aNonsense, tick); f.Happens(s.Dirt.Nonsense) {
		nonsense := []string{"n/a", "ERR", "--", "NaN", "1e999", "", "?!\x7f", strings.Repeat("x", 300)}
		r.Values[s.sensor(f)] = nonsense[int(f.Draw(4)*float64(len(nonsense)))]
	}
	if s.member.fate(aText, tick).Happens(s.Dirt.Texts) {
		for name, v := range r.Values {
			if number, ok := v.(float64); ok {
				r.Values[name] = fmt.Sprint(number)
			}
		}
	}
	if s.member.fate(anObject, tick).Happens(s.Dirt.Nested) {
		nest(r.Values, "temperature")
	}
}

// nest puts the values with a common prefix into one JSON object.
func nest(values map[string]any, first string) {
	object := map[string]any{}
	for name, v := range values {
		if rest, ok := strings.CutPrefix(name, first+"_"); ok {
			object[rest] = v
			delete(values, name)
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // numbers and texts
	}
	values[first] = string(text)
}

// clock returns the time by the device's clock.
func (s *sensing) clock(t time.Time) time.Time {
	while, ok := s.member.span(aClock, s.Dirt.Clocks, halfDay, t)
	switch {
	case !ok:
		return t
	case while.Draw(3) < 0.5:
		return t.Add(time.Hour)
	}
	return time.Unix(0, 0).Add(t.Sub(while.From)).UTC() // since its battery failed
}

// Wall returns the clock of a member's client, or nil for the correct one.
func (f Fleet) Wall(m Member) func() time.Time {
	if !m.fate(aBootIn1970, 0).Happens(f.Dirt.Clocks) {
		return nil
	}
	booted := time.Now()
	return func() time.Time { return time.Unix(0, 0).Add(time.Since(booted)) }
}

// due returns the times at which the device sends a reading: several if it repeats itself.
func (s *sensing) due(t time.Time) []time.Time {
	tick := uint64(t.UnixMilli())
	first := t
	if f := s.member.fate(aDisorder, tick); f.Happens(s.Dirt.Disorder) {
		first = t.Add(time.Duration(1+int(f.Draw(1)*5)) * s.Every)
	}
	all := []time.Time{first}
	if f := s.member.fate(aRepeat, tick); f.Happens(s.Dirt.Repeats) {
		for n := range 1 + uint64(f.Draw(1)*3) {
			all = append(all, first.Add(time.Duration(f.Draw(2+n)*3)*s.Every))
		}
	}
	for i := range all {
		all[i] = s.online(all[i])
	}
	return slices.Clip(all)
}

// online returns the next time at which the device is online and sends.
func (s *sensing) online(t time.Time) time.Time {
	if s.SendEvery > s.Every {
		phase := s.member.phase(s.SendEvery, 1)
		next := t.Truncate(s.SendEvery).Add(phase)
		for next.Before(t) {
			next = next.Add(s.SendEvery)
		}
		t = next
	}
	if out, ok := s.member.span(anOutage, s.Dirt.Outages, quarterDay, t); ok {
		return out.To
	}
	return t
}

// newestFirst tells whether the device sends the newest reading first after an outage.
func (s *sensing) newestFirst() bool { return s.member.fate(anOutage, 0).Draw(5) < 0.3 }
