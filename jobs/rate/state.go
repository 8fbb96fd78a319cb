package rate

import (
	"errors"
	"strings"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// state is what is remembered of a device between two folds.
type state struct {
	begun    bool
	last     schema.RowKey // of the last sample
	position located
	sensors  []sensor // by name

	today, room int // sensors that have sent something today, and what they can take
}

// Bounds of a state.
const (
	maxState = 96 << 10
	maxRoom  = maxState - 1<<10

	maxPoints = cells + 2 // those of a span whose start is rounded down, and the one before it
)

// sensorRoom is what a sensor can take in a state, at most.
func sensorRoom(name string, counter bool) int {
	const around, perPoint, carry = 124, 15, 8
	if counter {
		return around + len(name) + maxPoints*(perPoint+carry)
	}
	return around + len(name) + maxPoints*perPoint
}

const stateVersion = 1

var errVersion = errors.New("the state is of a version that this program does not know")

// Flags of a sensor in a state.
const (
	isCounter = 1 << iota
	isKnown
	spans
	isLocated
)

func (st *state) encode() []byte {
	last := ""
	if st.begun {
		last = st.last.String()
	}
	b := pack.Text([]byte{stateVersion}, last)
	b = pack.Int(b, int64(st.position.at))
	if st.position.at > 0 {
		b = pack.Float(pack.Float(b, st.position.Lat), st.position.Lon)
	}
	b = pack.Int(b, len(st.sensors))
	for i := range st.sensors {
		b = st.sensors[i].append(b, st.last.Ticks)
	}
	return b
}

func (s *sensor) append(b []byte, last tables.Ticks) []byte {
	flags := 0
	for flag, set := range map[int]bool{isCounter: s.counter, isKnown: s.newest.known, spans: s.newest.spans, isLocated: s.newest.located} {
		if set {
			flags |= flag
		}
	}
	b = pack.Int(pack.Int(pack.Text(b, s.name), flags), len(s.points))
	for _, p := range s.points {
		b = pack.Float(pack.Int(b, int64(last-p.at)), p.value)
		if last = p.at; s.counter {
			b = pack.Float(b, p.carry)
		}
	}
	for _, f := range s.floats(flags) {
		b = pack.Float(b, *f)
	}
	for i := range s.tallies {
		t := &s.tallies[i]
		if b = pack.Int(b, t.Count); t.Count > 0 {
			for _, f := range t.floats() {
				b = pack.Float(b, *f)
			}
		}
	}
	return b
}

// floats are those of the newest change that the flags name.
func (s *sensor) floats(flags int) (all []*float64) {
	n := &s.newest
	if flags&isKnown != 0 {
		all = append(all, &n.step.Difference, &n.step.PerHour)
	}
	if flags&spans != 0 {
		all = append(all, &n.span.Difference, &n.span.PerHour)
	}
	if flags&isLocated != 0 {
		all = append(all, &n.position.Lat, &n.position.Lon)
	}
	return all
}

func (t *Tally) floats() [5]*float64 {
	return [...]*float64{&t.Difference, &t.Hours, &t.Min, &t.Max, &t.Last}
}

// decode reads a state; no bytes are that of a device that was never folded.
func decode(b []byte) (*state, error) {
	st := &state{}
	if len(b) == 0 {
		return st, nil
	}
	if b[0] != stateVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	if text := r.Text(); text != "" {
		var err error
		if st.last, err = schema.ParseRowKey(text); err != nil {
			return nil, pack.ErrDamaged
		}
		st.begun = true
	}
	if st.position.at = tables.Ticks(r.Int()); st.position.at > 0 {
		st.position.Lat, st.position.Lon = r.Float(), r.Float()
	}
	for range r.Count() {
		s := readSensor(r, st.last.Ticks)
		if len(s.points) == 0 || len(st.sensors) > 0 && strings.Compare(st.sensors[len(st.sensors)-1].name, s.name) >= 0 {
			return nil, pack.ErrDamaged
		}
		if st.sensors = append(st.sensors, s); schema.DayOf(s.newestAt()) == schema.DayOf(st.last.Ticks) {
			st.today, st.room = st.today+1, st.room+sensorRoom(s.name, s.counter)
		}
	}
	return st, r.Err()
}

func readSensor(r *pack.Reader, last tables.Ticks) sensor {
	s := sensor{name: r.Text()}
	flags := int(r.Int())
	s.counter, s.newest.known, s.newest.spans, s.newest.located = flags&isCounter != 0, flags&isKnown != 0, flags&spans != 0, flags&isLocated != 0
	for range r.Count() {
		p := point{at: last - tables.Ticks(r.Int()), value: r.Float()}
		if last = p.at; s.counter {
			p.carry = r.Float()
		}
		s.points = append(s.points, p)
	}
	for _, f := range s.floats(flags) {
		*f = r.Float()
	}
	for i := range s.tallies {
		t := &s.tallies[i]
		if t.Count = r.Int(); t.Count > 0 {
			for _, f := range t.floats() {
				*f = r.Float()
			}
		}
	}
	return s
}
