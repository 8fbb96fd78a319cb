package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A script is a device's readings by the second of their time, and the jobs that find them.
type script struct {
	readings []told
	jobs     []int // their horizons; a job finds what is not later, and what earlier jobs have not found
	end      int   // the horizon of the last job
}

// told is a reading of the sensors x, a number, and y, a text. Each may be absent.
type told struct {
	at   int
	x    *float64
	y    string
	late int // seconds until it arrives
}

// A naive evaluation says when incidents open and close, from all readings at once.
type naive func(s script) (said []string)

// held follows what holds at every second: an incident opens when it has held for so long, and closes when it clears.
func held(end, wait int, is func(second int) (holds, clears, known bool)) (said []string) {
	run, open := 0, false
	for second := range end {
		holds, clears, known := is(second)
		switch {
		case !known:
		case open && clears:
			said, open, run = append(said, fmt.Sprint("closed ", second)), false, 0
		case open:
		case !holds:
			run = 0
		default:
			if run++; run > wait {
				said, open = append(said, fmt.Sprint("opened ", second)), true
			}
		}
	}
	return said
}

// newest returns the newest reading that says something, at some second.
func (s script) newest(second int, says func(r told) bool) (last told, known bool) {
	for _, r := range s.readings {
		if r.at <= second && says(r) {
			last, known = r, true
		}
	}
	return last, known
}

func hasX(r told) bool { return r.x != nil }
func hasY(r told) bool { return r.y != "" }

// everyKind returns a random rule of each kind, and its naive evaluation.
func everyKind(t *testing.T, r *rand.Rand) map[string]struct {
	kind  Kind
	naive naive
} {
	wait, span := r.IntN(20), 60+12*r.IntN(3)
	waits, within := time.Duration(wait)*time.Second, time.Duration(span)*time.Second
	least := 2 + r.IntN(4)
	low, high := float64(r.IntN(4)), float64(4+r.IntN(4))
	type both = struct {
		kind  Kind
		naive naive
	}
	numbers := func(l Limit, holds, clears func(x float64) bool) both {
		return both{&Threshold{Sensor: "x", Limit: l, For: waits}, func(s script) []string {
			return held(s.end, wait, func(second int) (bool, bool, bool) {
				last, known := s.newest(second, hasX)
				return known && holds(*last.x), known && clears(*last.x), known
			})
		}}
	}
	above, cleared := high, high-float64(r.IntN(4))
	rate := func(above float64, counter bool) both {
		return both{&Rate{Sensor: "x", Over: within, Limit: Limit{Above: &Bound{Number: above}}, For: waits},
			func(s script) []string { return naiveRate(s, span, wait, above, counter) }}
	}
	silence := func(sensor string, says func(told) bool) both {
		return both{&Silence{After: within, Sensor: sensor},
			func(s script) []string { return naiveSilence(s, span, says) }}
	}
	return map[string]both{
		"above": numbers(Limit{Above: &Bound{Number: above}, ClearBelow: &Bound{Number: cleared}},
			func(x float64) bool { return x > above },
			func(x float64) bool { return x < cleared }),
		"below": numbers(Limit{Below: &Bound{Number: high}}, func(x float64) bool { return x < high },
			func(x float64) bool { return x >= high }),
		"outside": numbers(Limit{Outside: &[2]float64{low, high}}, func(x float64) bool { return x < low || x > high },
			func(x float64) bool { return x >= low && x <= high }),
		"condition": {&Condition{Where: where(t, `y == "b" || x > 6`), For: waits}, func(s script) []string {
			return held(s.end, wait, func(second int) (bool, bool, bool) {
				last, known := s.newest(second, func(r told) bool { return hasX(r) || hasY(r) })
				holds := last.y == "b" || last.x != nil && *last.x > 6
				return holds, !holds, known
			})
		}},
		"count": {&Count{Where: where(t, `y == "b"`), Times: least, Within: within}, func(s script) []string {
			return held(s.end, 0, func(second int) (bool, bool, bool) {
				n := 0
				for _, r := range s.readings {
					if r.y == "b" && r.at > second-span && r.at <= second {
						n++
					}
				}
				return n >= least, n < least, true
			})
		}},
		"rate":         rate(low, false),
		"counter":      rate(high, true),
		"stuck":        {&Stuck{Sensor: "y", For: within}, func(s script) []string { return naiveStuck(s, span) }},
		"silence":      silence("", func(told) bool { return true }),
		"silence of y": silence("y", hasY),
	}
}

// naiveRate compares each reading with the newest at or before the start of its span.
func naiveRate(s script, span, wait int, above float64, counter bool) []string {
	var all []told
	total, last, zero := 0.0, 0.0, false
	for _, r := range s.readings {
		if r.x == nil {
			continue
		}
		value := *r.x
		if zero = counter && value == 0 && last > 0 && !zero; zero { // the next reading tells
			continue
		}
		if counter {
			step := value
			if len(all) > 0 && value >= last {
				step = value - last
			}
			last, total = value, total+step
			value = total
		}
		all = append(all, told{at: r.at, x: &value})
	}
	holdsAt := map[int]bool{} // of readings whose change is known
	cell := span / 12
	for _, r := range all {
		from := r.at - span
		from -= ((from+offsetOfStart(cell))%cell + cell) % cell
		old, known := script{readings: all}.newest(from, hasX)
		if known && r.at-old.at <= 2*span {
			holdsAt[r.at] = (*r.x-*old.x)*(float64(span)/float64(r.at-old.at)) > above
		}
	}
	return held(s.end, wait, func(second int) (bool, bool, bool) {
		for at := second; at >= 0; at-- {
			if holds, known := holdsAt[at]; known {
				return holds, !holds, true
			}
		}
		return false, false, false
	})
}

// offsetOfStart is how far the start of the tests lies behind the beginning of a cell of so many seconds.
func offsetOfStart(cell int) int {
	return int(tables.TicksOf(start) % ticks(time.Duration(cell)*time.Second) / ticks(time.Second))
}

// naiveStuck looks back from each reading for how long its value has been told without a pause.
func naiveStuck(s script, span int) (said []string) {
	all := slices.DeleteFunc(slices.Clone(s.readings), func(r told) bool { return r.y == "" })
	open := false
	for i, r := range all {
		first := i
		for first > 0 && all[first-1].y == r.y && all[first].at-all[first-1].at <= span {
			first--
		}
		if open && r.y != all[i-1].y {
			said, open = append(said, fmt.Sprint("closed ", r.at)), false
		}
		if !open && r.at-all[first].at >= span {
			said, open = append(said, fmt.Sprint("opened ", r.at)), true
		}
	}
	return said
}

// naiveSilence goes by when readings were found.
func naiveSilence(s script, span int, says func(told) bool) (said []string) {
	open, heard := false, -span*1000
	for i, job := range s.jobs {
		since := -1
		if i > 0 {
			since = s.jobs[i-1]
		}
		found := func(r told) bool { return r.found() > since && r.found() <= job }
		if heard < 0 && slices.ContainsFunc(s.readings, found) { // it is new until then
			heard = job
		}
		if slices.ContainsFunc(s.readings, func(r told) bool { return says(r) && found(r) }) {
			if heard = job; open {
				said, open = append(said, fmt.Sprint("closed ", job)), false
			}
		}
		if !open && heard >= 0 && heard+span < job {
			said, open = append(said, fmt.Sprint("opened ", heard+span)), true
		}
	}
	return said
}

func (r told) found() int { return r.at + r.late }

func (r told) sample(at tables.Ticks) fold.Sample {
	var pairs []any
	if r.x != nil {
		pairs = append(pairs, "x", *r.x)
	}
	if r.y != "" {
		pairs = append(pairs, "y", r.y)
	}
	return sample(at, pairs...)
}

// random returns a script of some minutes. Readings come in the order of their times, perhaps late.
func random(r *rand.Rand, late bool) script {
	s := script{end: 300 + r.IntN(300)}
	often, newest, delay := 2+r.IntN(30), 0, 0
	for second := range s.end {
		if r.IntN(40) == 0 {
			often, delay = 2+r.IntN(60), 0
			if late {
				delay = r.IntN(90)
			}
		}
		if r.IntN(often) == 0 && second+delay >= newest {
			one := told{at: second, late: delay}
			newest = second + delay
			if r.IntN(3) > 0 {
				x := float64(r.IntN(10))
				one.x = &x
			}
			if r.IntN(3) > 0 {
				one.y = []string{"a", "b", "b", "b"}[r.IntN(4)]
			}
			s.readings = append(s.readings, one)
		}
	}
	for at := 0; at < s.end; at += 1 + r.IntN(60) {
		s.jobs = append(s.jobs, at)
	}
	s.jobs = append(s.jobs, s.end)
	return s
}

// play has a bench do the jobs of a script, and returns what it said.
func (s script) play(b *bench) (said []string) {
	rest := s.readings
	second := func(n int) tables.Ticks { return tables.TicksOf(start.Add(time.Duration(n) * time.Second)) }
	for _, job := range s.jobs {
		var own []fold.Sample
		for ; len(rest) > 0 && rest[0].found() <= job; rest = rest[1:] {
			own = append(own, rest[0].sample(second(rest[0].at)))
		}
		for ; len(own) > 3; own = own[2:] { // a job folds a portion at a time
			b.rows(second(job), own[:2]...)
		}
		b.run(second(job), own...)
	}
	for _, one := range b.all {
		if one.What != schema.Announced {
			said = append(said, fmt.Sprint(strings.Replace(one.What, schema.Reopened, schema.Opened, 1), " ",
				int(one.At.Time().Sub(start).Seconds())))
		}
	}
	return said
}

// TestRandomReadingsGiveWhatANaiveEvaluationGives folds them in random portions.
func TestRandomReadingsGiveWhatANaiveEvaluationGives(t *testing.T) {
	opened := map[string]int{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		for name, k := range everyKind(t, r) {
			s := random(rand.New(rand.NewPCG(seed, 2)), strings.HasPrefix(name, "silence"))
			b := newBench(t, rule("watch", k.kind))
			if name == "counter" {
				b.fold.sensors = &fold.Sensors{Counters: map[string]fold.Counter{"x": {}}}
			}
			got, want := s.play(b), k.naive(s)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %s, %s: got\n%s\nwant\n%s", seed, name, k.kind, strings.Join(got, "\n"),
					strings.Join(want, "\n"))
			}
			opened[name] += len(want)
		}
		if t.Failed() {
			return
		}
	}
	for name, n := range opened {
		if t.Logf("%s: %d transitions", name, n); n < 300 {
			t.Errorf("only %d transitions of %s", n, name)
		}
	}
}
