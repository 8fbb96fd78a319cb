package query

import (
	"context"
	"iter"
	"math"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A GapDay is what the sequence numbers of a device say about one day of its readings, in UTC.
//
// It is counted when it is asked for, from the raw rows of the span, and not by folds. So late rows and imports change
// it at once, a model that is changed needs no refold, and no run needs another operation or more state for a report
// that few people read. A thousand rows cost one request.
type GapDay struct {
	Device   schema.DeviceID
	Day      tables.Ticks // its start
	Readings int64        // that have a number; others are not counted
	Missing  int64        // numbers between two successive readings that no reading has
	Repeated int64        // readings with the number of the one before, or of another one shortly before
	Resets   int64        // readings whose number begins again, because the device was restarted
	Wraps    int64        // readings after the greatest number of 16 or 32 bits
	First    uint64       // number of the first reading
	Last     uint64       // number of the last one
}

// Gaps yields the days of the question's span, device after device. The step from one day to the next counts for the
// later one. Devices whose model names no sequence number are left out. The question has no condition.
func (f Fleet) Gaps(ctx context.Context, q Question) iter.Seq2[GapDay, error] {
	limit := q.Limit
	q.Limit = 0 // of rows
	days := func(yield func(source[GapDay], error) bool) {
		for m, err := range f.membersOf(ctx, q) {
			sequence := sequenceOf(q.Models.of(m))
			if err == nil && (!q.SelectsMember(m) || sequence == "") {
				continue
			}
			q.Sensors = []string{sequence}
			readings := f.readingsOf(q, m)
			s := func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[GapDay, error] {
				return gapDays(sequence, readings(ctx, afterPage))
			}
			if !yield(s, err) {
				return
			}
		}
	}
	return Limited(inOrder(ctx, days, true), limit)
}

// sequenceOf returns the property with the number of a reading. m may be nil.
func sequenceOf(m *Model) string {
	if m == nil || m.Sensors == nil {
		return ""
	}
	return m.Sensors.Sequence
}

func gapDays(name string, readings iter.Seq2[Reading, error]) iter.Seq2[GapDay, error] {
	const day = tables.Ticks(24 * time.Hour / 100)
	return func(yield func(GapDay, error) bool) {
		var c sequence
		var today GapDay
		for r, err := range readings {
			if err != nil {
				if !yield(GapDay{}, err) {
					return
				}
				continue
			}
			n, ok := numberOf(name, r)
			if !ok {
				continue
			}
			if start := r.Time - r.Time%day; today.Readings == 0 || start != today.Day {
				if today.Readings > 0 && !yield(today, nil) {
					return
				}
				today = GapDay{Device: r.Device, Day: start, First: n}
			}
			c.take(n, &today)
		}
		if today.Readings > 0 {
			yield(today, nil)
		}
	}
}

// numberOf returns the number of a reading, as it was sent.
func numberOf(name string, r Reading) (uint64, bool) {
	for _, p := range r.Values {
		if p.Name != name {
			continue
		}
		n := p.Value.Float()
		switch p.Value.Type() {
		case tables.TypeString:
			whole, err := strconv.ParseUint(p.Value.Text(), 10, 32)
			return whole, err == nil
		case tables.TypeInt32, tables.TypeInt64, tables.TypeDouble:
			return uint64(n), n >= 0 && n <= math.MaxUint32 && n == math.Trunc(n)
		}
	}
	return 0, false
}

// A sequence follows the numbers of one device.
type sequence struct {
	begun  bool
	newest uint64
	missed map[uint64]bool // of the numbers shortly before the newest
}

// Bounds of what one step may be.
const (
	// shortly is how far readings may be out of order, in numbers: several of one tick are in the order of their suffixes.
	shortly = 16
	// overWrap is how many numbers may be missing across a wrap. A number that falls further is a restart.
	overWrap = 1000
)

// take counts the next number of the device.
func (s *sequence) take(n uint64, day *GapDay) {
	day.Readings++
	day.Last = n
	switch {
	case !s.begun:
		s.restart(n)
	case n > s.newest:
		s.skip(s.newest+1, n, day)
		s.newest = n
	case s.missed[n]: // it is late, and counted as missing before
		delete(s.missed, n)
		if day.Missing > 0 {
			day.Missing--
		}
	case n == s.newest, n > 0 && s.newest-n < shortly:
		day.Repeated++
	default:
		missing, wraps := wrap(s.newest, n)
		if s.restart(n); wraps {
			day.Wraps++
			day.Missing += int64(missing)
		} else {
			day.Resets++
		}
	}
}

func (s *sequence) restart(n uint64) {
	*s = sequence{begun: true, newest: n, missed: map[uint64]bool{}}
}

// skip counts the numbers in [from, to) as missing.
func (s *sequence) skip(from, to uint64, day *GapDay) {
	day.Missing += int64(to - from)
	for n := range s.missed {
		if n+shortly <= to {
			delete(s.missed, n)
		}
	}
	for n := max(from, to-min(to, shortly-1)); n < to; n++ {
		s.missed[n] = true
	}
}

// wrap returns how many numbers are missing if a counter of 16 or 32 bits has begun again between two numbers, and
// whether it probably has.
func wrap(before, after uint64) (missing uint64, wraps bool) {
	for _, size := range []uint64{1 << 16, 1 << 32} {
		if before < size && size-1-before+after <= overWrap {
			return size - 1 - before + after, true
		}
	}
	return 0, false
}
