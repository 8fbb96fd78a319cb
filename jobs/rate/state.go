package rate

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// state is what is remembered of a device between two folds.
type state struct {
	begun   bool
	last    schema.RowKey // of the last sample
	place   place
	buckets [2]bucket // that are open
	trails  []trail   // by name
}

// A bucket is an open one of the series.
type bucket struct {
	start   tables.Ticks
	sensors []sensor // by name
	room    int      // that they may take in a state
}

// A sensor of a bucket.
type sensor struct {
	name string
	Summary
}

// Bounds of a state.
const (
	maxState = 48 << 10
	maxRoom  = maxState - 1<<10

	maxPoints = cells + 4 // of a span whose start is rounded down, the one before it, and the newest two
)

// roomOf is what a sensor can take in a state, at most: its summary in a bucket, and for each
// day that a device's row depends on, or for two buckets, its trail. It assumes lengths of
// ticks as of three days.
func roomOf(name string, counter bool) int {
	const summary, trail, perPoint, carry, zeros = 90, 32, 14, 8, 24
	room := summary + trail + 2*len(name) + maxPoints*perPoint
	if counter {
		room += maxPoints*carry + zeros
	}
	return room
}

// sensor is the one of that name, if the bucket has it or room for it.
func (b *bucket) sensor(name string, counter *fold.Counter, most int) *Summary {
	i, found := slices.BinarySearchFunc(b.sensors, name,
		func(s sensor, name string) int { return strings.Compare(s.name, name) })
	if !found {
		room := roomOf(name, counter != nil)
		if b.room+room > most {
			return nil
		}
		b.room += room
		b.sensors = slices.Insert(b.sensors, i, sensor{name, Summary{Counter: counter}})
	}
	return &b.sensors[i].Summary
}

func (st *state) trail(name string, counter *fold.Counter) *trail {
	i, found := slices.BinarySearchFunc(st.trails, name,
		func(t trail, name string) int { return strings.Compare(t.name, name) })
	if !found {
		st.trails = slices.Insert(st.trails, i, trail{name: name, counter: counter})
	}
	return &st.trails[i]
}

// expire forgets what was before a moment: so the state depends on nothing before.
func (st *state) expire(from tables.Ticks) {
	for i := range st.trails {
		st.trails[i].expire(from)
	}
	st.trails = slices.DeleteFunc(st.trails, func(t trail) bool { return len(t.points) == 0 })
	if st.place.at < from {
		st.place = place{}
	}
}

const (
	stateVersion = 1
	stateHead    = 1 + 8 // version and settings
)

var errVersion = errors.New("the state is of a version that this program does not know")

func (f *Fold) encode(st *state) []byte {
	last := ""
	if st.begun {
		last = st.last.String()
	}
	c := &pack.Codec{To: pack.Text(binary.BigEndian.AppendUint64([]byte{stateVersion}, f.settings), last)}
	(&codec{Codec: c}).state(st)
	return c.To
}

// decode reads a state; no bytes are that of a device that was never folded. Of one that was
// made under other settings nothing but its last sample counts: the device is going to be
// folded again from its beginning.
func (f *Fold) decode(b []byte) (*state, error) {
	st := &state{}
	if len(b) == 0 {
		return st, nil
	}
	if b[0] != stateVersion {
		return nil, errVersion
	}
	if len(b) < stateHead {
		return nil, pack.ErrDamaged
	}
	r := pack.NewReader(b[stateHead:])
	if text := r.Text(); text != "" {
		var err error
		if st.last, err = schema.ParseRowKey(text); err != nil {
			return nil, pack.ErrDamaged
		}
		st.begun = true
	}
	if binary.BigEndian.Uint64(b[1:]) != f.settings {
		for i, w := range Windows() {
			st.buckets[i].start = w.Start(st.last.Ticks)
		}
		return st, nil
	}
	(&codec{&pack.Codec{From: r}, &f.sensors}).state(st)
	for i := range st.buckets {
		b := &st.buckets[i]
		for _, s := range b.sensors {
			b.room += roomOf(s.name, s.Counter != nil)
		}
	}
	return st, r.Err()
}

// A codec writes and reads a state.
type codec struct {
	*pack.Codec
	sensors *fold.Sensors
}

func (c *codec) state(st *state) {
	c.place(&st.place, st.last.Ticks)
	for i := range st.buckets {
		b := &st.buckets[i]
		pack.Whole(c.Codec, &b.start)
		pack.List(c.Codec, &b.sensors, func(s *sensor) { pack.String(c.Codec, &s.name); c.summary(s, b.start) })
	}
	pack.List(c.Codec, &st.trails, func(t *trail) {
		pack.String(c.Codec, &t.name)
		if t.counter = c.counter(t.name, t.counter); t.counter != nil {
			pack.Near(c.Codec, &t.zero, st.last.Ticks)
		}
		c.place(&t.place, st.last.Ticks)
		last := st.last.Ticks
		pack.List(c.Codec, &t.points, func(p *point) {
			c.reading(&p.Reading, last)
			if last = p.At; t.counter != nil {
				c.Floats(&p.carry)
			}
		})
	})
}

// counter writes whether a sensor is a counter. Which one, the settings say that the state was made under.
func (c *codec) counter(name string, is *fold.Counter) *fold.Counter {
	counts := is != nil
	if c.Bool(&counts); c.From != nil && counts {
		return c.sensors.Counter(name)
	}
	return is
}

func (c *codec) summary(s *sensor, start tables.Ticks) {
	if s.Counter = c.counter(s.name, s.Counter); s.Counter != nil {
		pack.Near(c.Codec, &s.Lead, start)
		pack.Near(c.Codec, &s.Zero, start)
	}
	c.reading(&s.First, start)
	c.reading(&s.Last, start)
	t, located := &s.Steps, s.Position != nil
	pack.Whole(c.Codec, &t.Count)
	c.Floats(&t.Difference, &t.Min, &t.Max, &t.Last)
	t.Over = s.Last.At - s.First.At
	if c.Bool(&located); located {
		if s.Position == nil {
			s.Position = &Position{}
		}
		c.Floats(&s.Position.Lat, &s.Position.Lon)
	}
}

func (c *codec) place(p *place, last tables.Ticks) {
	known := p.at > 0
	if c.Bool(&known); known {
		pack.Beside(c.Codec, &p.at, last)
		c.Floats(&p.Lat, &p.Lon)
	}
}

func (c *codec) reading(r *Reading, from tables.Ticks) {
	pack.Beside(c.Codec, &r.At, from)
	c.Floats(&r.Value)
}
