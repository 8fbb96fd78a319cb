package rollup

import (
	"errors"
	"slices"
	"strings"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// state is what a device's rollups keep between two folds: the open bucket of each window.
type state struct {
	last  schema.RowKey // row key of the last sample
	begun bool          // there was one
	names []string      // names of sensors, by number
	open  []bucket      // one for each window

	order   []int          // numbers of the sensors row key of the last sample, by their places in it
	numbers map[string]int // numbers of sensors by name, once there are many
}

// Bounds of a state. Its sensors take at most maxRoom, the rest much less.
const (
	maxState = 304 << 10
	maxRoom  = maxState - 1<<10

	// sensorRoom is what a sensor of a bucket takes besides its name: five numbers of 8 bytes, two times of 6, its number,
	// its count, and the length of its name.
	sensorRoom = 62

	manyNames = 16   // from so many on, names are looked up in a map
	maxNames  = 8192 // more are not remembered; open buckets can have no more than 6,100
)

// A bucket is one that may still get samples.
type bucket struct {
	window     schema.Window
	start      tables.Ticks
	begun      bool
	changed    bool    // since it was last written
	aggregates []Timed // by sensor number; empty if the count is 0
	sensors    int     // number of sensors with a count
	room       int     // bytes that they take in a state
	readings   int64   // with a number that counts
	counts     bool    // the current sample has such a number

	// What the table buckets has of it, where the window is reported.
	pending  bool         // it has changed since it was last written there
	reported tables.Ticks // until when its readings were folded then; 0: never
	stored   schema.Stored
}

func (b *bucket) endsAt() tables.Ticks { return b.start.Add(time.Duration(b.window)) }

// most returns the greatest count of a sensor.
func (b *bucket) most() (n int64) {
	for i := range b.aggregates {
		n = max(n, b.aggregates[i].Count)
	}
	return n
}

// has reports whether the bucket has a sensor.
func (b *bucket) has(sensor int) bool {
	return sensor < len(b.aggregates) && b.aggregates[sensor].Count > 0
}

// takes reports whether the bucket has room for another sensor.
func (b *bucket) takes(name string, room int) bool {
	return b.sensors < fold.MaxSensors && b.room+sensorRoom+len(name) <= room
}

// begin makes room for a sensor that the bucket does not have.
func (b *bucket) begin(sensor int, name string) {
	for len(b.aggregates) <= sensor {
		b.aggregates = append(b.aggregates, Timed{})
	}
	b.sensors, b.room = b.sensors+1, b.room+sensorRoom+len(name)
}

// sensor returns the number of the sensor at some place of a sample, or -1. Samples usually have the same sensors at
// the same places.
func (s *state) sensor(place int, name string) int {
	if place < len(s.order) {
		if n := s.order[place]; n >= 0 && s.names[n] == name {
			return n
		}
	}
	n := s.find(name)
	if n >= 0 {
		s.place(place, n)
	}
	return n
}

func (s *state) find(name string) int {
	if len(s.names) < manyNames {
		return slices.Index(s.names, name)
	}
	if s.numbers == nil {
		s.numbers = make(map[string]int, 2*len(s.names))
		for i, name := range s.names {
			s.numbers[name] = i
		}
	}
	if n, ok := s.numbers[name]; ok {
		return n
	}
	return -1
}

// add gives a new sensor a number.
func (s *state) add(place int, name string) int {
	if len(s.names) >= maxNames {
		s.forget()
	}
	n := len(s.names)
	s.names = append(s.names, name)
	if s.numbers != nil {
		s.numbers[name] = n
	}
	s.place(place, n)
	return n
}

func (s *state) place(place, n int) {
	for len(s.order) <= place {
		s.order = append(s.order, -1)
	}
	s.order[place] = n
}

// forget drops the sensors that no open bucket has, and sorts the others by name, so the state depends on the open
// buckets alone.
func (s *state) forget() {
	keep := make([]int, 0, len(s.names))
	for i := range s.names {
		if slices.ContainsFunc(s.open, func(b bucket) bool { return b.has(i) }) {
			keep = append(keep, i)
		}
	}
	slices.SortFunc(keep, func(a, b int) int { return strings.Compare(s.names[a], s.names[b]) })
	if len(keep) == len(s.names) && slices.IsSorted(keep) {
		return
	}
	names := make([]string, len(keep))
	for to, from := range keep {
		names[to] = s.names[from]
	}
	for i := range s.open {
		b := &s.open[i]
		kept := make([]Timed, 0, len(keep))
		for to, from := range keep {
			if b.has(from) {
				kept = append(kept, make([]Timed, to-len(kept))...)
				kept = append(kept, b.aggregates[from])
			}
		}
		b.aggregates = kept
	}
	s.names, s.order, s.numbers = names, nil, nil
}

// A state has the number of readings of each bucket, and a version of its own, only where some sensor is not in every
// reading. It also has the times of first and last numbers, what was reported, and what is stored, only where windows
// are reported. So others stay as they were.
const (
	stateVersion    = 2
	readingsVersion = 3
	reportsVersion  = 4 // is read, and has nothing of what is stored
	storedVersion   = 5
)

func (f *Fold) encode(s *state) []byte {
	s.forget()
	version := byte(stateVersion)
	for i := range s.open {
		if s.open[i].readings != s.open[i].most() {
			version = readingsVersion
		}
	}
	if len(f.reported) > 0 {
		version = storedVersion
	}
	size := 128
	for i := range s.open {
		size += 20 + s.open[i].room
	}
	b := append(make([]byte, 0, size), version)
	last := ""
	if s.begun {
		last = s.last.String()
	}
	b = pack.Text(b, last)
	b = pack.Int(b, len(s.names))
	for _, name := range s.names {
		b = pack.Text(b, name)
	}
	b = pack.Int(b, len(s.open))
	for i := range s.open {
		o := &s.open[i]
		b = o.append(b, version)
		if version >= readingsVersion {
			b = pack.Int(b, o.readings)
		}
		if version == storedVersion {
			b = pack.Int(pack.Int(b, flag(o.pending)), int64(o.reported))
			b = pack.Int(pack.Int(b, o.stored.Rows), o.stored.Bytes)
		}
	}
	return b
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// append writes a bucket. Each sensor's number is written as the difference to the one before.
func (b *bucket) append(to []byte, version byte) []byte {
	to = pack.Int(pack.Int(to, int64(b.window)), int64(b.start))
	to = pack.Int(to, b.sensors)
	before := -1
	for i := range b.aggregates {
		a := &b.aggregates[i]
		if a.Count == 0 {
			continue
		}
		to = pack.Int(pack.Int(to, i-before), a.Count)
		for _, f := range [...]float64{a.Sum, a.Min, a.Max, a.First, a.Last} {
			to = pack.Float(to, f)
		}
		if version >= reportsVersion {
			to = pack.Int(pack.Int(to, int64(a.FirstAt-b.start)), int64(a.LastAt-b.start))
		}
		before = i
	}
	return to
}

var errVersion = errors.New("the state has a version that this program does not know")

// decode reads a state. A window that the state lacks starts empty, and one that the fold lacks is dropped. The refold
// after a change of windows repairs the past.
func (f *Fold) decode(b []byte) (*state, error) {
	s := &state{}
	for _, w := range f.windows {
		s.open = append(s.open, bucket{window: w})
	}
	if len(b) == 0 {
		return s, nil
	}
	version := b[0]
	if version < stateVersion || version > storedVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	if text := r.Text(); text != "" {
		var err error
		if s.last, err = schema.ParseRowKey(text); err != nil {
			return nil, pack.ErrDamaged
		}
		s.begun = true
	}
	for range r.Count() {
		s.names = append(s.names, r.Text())
	}
	for range r.Count() {
		o, err := readBucket(r, s.names, version)
		if err != nil {
			return nil, err
		}
		if o.readings = o.most(); version >= readingsVersion {
			o.readings = r.Int()
		}
		if version >= reportsVersion {
			o.pending, o.reported = r.Int() != 0, tables.Ticks(r.Int())
		} else {
			o.untimed(s.last.Ticks)
		}
		if version >= storedVersion {
			o.stored = schema.Stored{Rows: r.Int(), Bytes: r.Int()}
		}
		if i := slices.Index(f.windows, o.window); i >= 0 {
			s.open[i] = o
		}
	}
	return s, r.Err()
}

// untimed completes a bucket that was begun before its window was reported: its numbers are taken to be as old and as
// new as they can be.
func (b *bucket) untimed(last tables.Ticks) {
	b.pending = b.begun
	for i := range b.aggregates {
		b.aggregates[i].FirstAt, b.aggregates[i].LastAt = b.start, max(b.start, last)
	}
}

func readBucket(r *pack.Reader, names []string, version byte) (bucket, error) {
	b := bucket{window: schema.Window(r.Int()), start: tables.Ticks(r.Int())}
	n, at := r.Count(), int64(-1)
	for range min(n, len(names)) {
		after := r.Int()
		a := Timed{Aggregate: Aggregate{Count: r.Int()}}
		for _, to := range []*float64{&a.Sum, &a.Min, &a.Max, &a.First, &a.Last} {
			*to = r.Float()
		}
		if version >= reportsVersion {
			a.FirstAt, a.LastAt = b.start+tables.Ticks(r.Int()), b.start+tables.Ticks(r.Int())
		}
		if after < 1 || after >= int64(len(names))-at || a.Count <= 0 {
			return b, pack.ErrDamaged
		}
		at += after
		b.aggregates = append(b.aggregates, make([]Timed, int(at)-len(b.aggregates))...)
		b.aggregates = append(b.aggregates, a)
		b.sensors, b.room = b.sensors+1, b.room+sensorRoom+len(names[at])
	}
	b.begun = b.start != 0 || b.sensors > 0 // a window that was added has not begun
	return b, nil
}
