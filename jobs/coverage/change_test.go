package coverage

import (
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables"
)

// at returns the start of a day, counted from the beginning of all days.
func at(day int) tables.Ticks { return tables.Ticks(day) * tables.Day }

// of returns the days from one up to, but without, another.
func of(from, to int) Window { return Window{at(from), at(to)} }

// A plainDay is what the model knows of a day: it has no parts.
type plainDay struct {
	sealed bool
	why    Reason
}

// A calendar is a Coverage as a list of days.
type calendar []plainDay

func (c calendar) each(from, to int, do func(*plainDay)) {
	for d := from; d < to; d++ {
		do(&c[d])
	}
}

// happen does one random thing to both.
func (c calendar) happen(random *rand.Rand, o *Coverage) {
	from := random.IntN(len(c))
	to := min(len(c), from+1+random.IntN(12))
	if random.IntN(8) == 0 {
		from, to = 0, to+random.IntN(len(c)-to+1)
	}
	why := Reason(1) << random.IntN(6)
	known := Known{at(1000), time.Hour}
	switch random.IntN(5) {
	case 0:
		o.Stale(Window{at(from) + 7, at(to) - 7}, why)
		c.each(from, to, func(d *plainDay) { d.why |= why })
	case 1:
		o.Reopen(of(from, to), why)
		c.each(from, to, func(d *plainDay) { d.why, d.sealed = d.why|why, false })
	case 2:
		o.Made(of(from, to))
		c.each(from, to, func(d *plainDay) { d.why = 0 })
	case 3:
		o.Seal(of(from, to), known)
		c.each(from, to, func(d *plainDay) { d.sealed = d.sealed || d.why == 0 })
	case 4:
		for day := from; day < to; day++ {
			d := &c[day]
			d.sealed = false
			if o.Parts(of(day, day+1))[0].Sealed { // where there are too many parts, it may have lost its seal
				d.why |= why
			}
		}
		o.Unseal(of(from, to), why)
	}
}

// TestPartsAreWhatHappenedToEachDay compares a Coverage with a list of days, after each of many things that happen to
// both. Where there are too many parts, days may be made again in vain, and nothing else.
func TestPartsAreWhatHappenedToEachDay(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var got Coverage
		want := make(calendar, []int{40, 400}[random.IntN(2)])
		exact := true
		for range 20 + random.IntN(200) {
			before := got
			want.happen(random, &got)
			exact = exact && got.Hull(Joined).Empty()
			same(t, got, want, exact)
			if t.Failed() {
				t.Fatalf("before %+v", before.parts)
			}
		}
	}
}

func same(t *testing.T, got Coverage, want calendar, exact bool) {
	t.Helper()
	if len(got.parts) > MaxParts {
		t.Errorf("%d parts", len(got.parts))
	}
	next := end
	for day, w := range want {
		parts := got.Parts(of(day, day+1))
		if len(parts) != 1 {
			t.Fatalf("day %d has %d parts", day, len(parts))
		}
		p := parts[0]
		if p.Stale() {
			next = min(next, p.From)
		}
		if exact && (p.Sealed != w.sealed || p.Why != w.why) {
			t.Errorf("day %d is %t, %b instead of %+v", day, p.Sealed, p.Why, w)
		}
		if p.Sealed && !w.sealed {
			t.Errorf("day %d is sealed", day)
		}
		if w.why != 0 && !p.Stale() {
			t.Errorf("day %d is not made again", day)
		}
		if !exact && !w.sealed && w.why == 0 && p.Stale() && p.Why&Joined == 0 {
			t.Errorf("day %d is made again for reason %b", day, p.Why)
		}
	}
	if from := got.Next().From; next != end && from != next {
		t.Errorf("first %d is made again, not %d", from/tables.Day, next/tables.Day)
	}
}

// TestStoredCoverageIsTheSame, whatever has happened.
func TestStoredCoverageIsTheSame(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var c Coverage
		days := make(calendar, 300)
		for range random.IntN(100) {
			days.happen(random, &c)
		}
		c.Known.Late = time.Duration(random.Int64N(1e15))
		c.Again(of(3, 9), at(12))
		c.Rebuild(at(100), Settings)
		got, err := Parse(c.Append(nil))
		if err != nil || !got.Equal(c) {
			t.Fatalf("%+v became %+v, %v", c, got, err)
		}
		if n := len(c.Append(nil)); n > 600 {
			t.Errorf("it takes %d bytes", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	var c Coverage
	c.Stale(of(700000, 700003), Late)
	c.Seal(of(0, 700010), Known{at(700011), time.Hour})
	f.Add(c.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			return
		}
		c.Stale(of(5, 8), Import)
		c.Seal(of(0, 9), Known{})
		c.Made(c.Next())
		if again, err := Parse(c.Append(nil)); err != nil || !again.Equal(c) {
			t.Errorf("%+v became %+v, %v", c, again, err)
		}
	})
}

// TestRepeatIsDueOnceItsTimeIsOver. One from a clock that was ahead waits from now on.
func TestRepeatIsDueOnceItsTimeIsOver(t *testing.T) {
	const wait = time.Hour
	var c Coverage
	c.Again(of(10, 12), at(12)+tables.Hour)
	if c.Due(at(12), at(14), wait) || !c.Next().Empty() {
		t.Errorf("it is due too early: %+v", c)
	}
	if !c.Due(at(12)+tables.Hour, at(12)+tables.Hour, wait) || c.Next() != of(10, 12) || !c.Repeat.Empty() {
		t.Errorf("it is not due: %+v", c)
	}
	c.Again(of(10, 12), at(400))
	if !c.Due(at(13), at(13), wait) || c.Repeat.At != at(13)+tables.Hour {
		t.Errorf("it waits until %d", c.Repeat.At/tables.Day)
	}
}
