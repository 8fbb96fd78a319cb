package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// naive says when a number was above a limit for so long, from all of its readings at once: it looks at every second.
func naive(samples []jobs.Sample, above float64, held, end int) string {
	value := func(second int) (f float64, known bool) {
		for _, s := range samples {
			if s.Key.Ticks <= tables.TicksOf(start.Add(time.Duration(second)*time.Second)) {
				f, known = s.Values[0].Number, true
			}
		}
		return f, known
	}
	said, run, open := "", 0, false
	for second := range end {
		f, known := value(second)
		switch holds := known && f > above; {
		case !holds && open:
			said, open, run = said+fmt.Sprintln("closed", second), false, 0
		case !holds:
			run = 0
		default:
			if run++; run > held && !open {
				said, open = said+fmt.Sprintln("opened", second), true
			}
		}
	}
	return said
}

// TestRandomReadingsGiveWhatANaiveEvaluationGives folds them in random portions.
func TestRandomReadingsGiveWhatANaiveEvaluationGives(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		held, end := r.IntN(20), 200
		var samples []jobs.Sample
		for second := range end {
			if r.IntN(6) == 0 {
				samples = append(samples, sample(at(fmt.Sprint(second, "s")), "x", r.IntN(10)))
			}
		}
		b := newBench(t, rule("hot", &Threshold{Sensor: "x", Limit: Limit{Above: number64(4)},
			For: time.Duration(held) * time.Second}))
		for next := 0; next < len(samples); {
			n := min(1+r.IntN(5), len(samples)-next)
			own := samples[next : next+n]
			b.run(own[n-1].Key.Ticks, own...)
			next += n
		}
		b.run(at(fmt.Sprint(end, "s")))
		var got strings.Builder
		for _, one := range b.all {
			what := strings.Replace(one.What, schema.Reopened, schema.Opened, 1)
			fmt.Fprintln(&got, what, int(one.At.Time().Sub(start).Seconds()))
		}
		if want := naive(samples, 4, held, end); got.String() != want {
			t.Fatalf("seed %d, for %ds: got\n%swant\n%s", seed, held, got.String(), want)
		}
	}
}
