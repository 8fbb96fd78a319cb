package rules

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// toldBy returns what transitions say.
func toldBy(all []schema.Transition) (said []string) {
	for _, one := range all {
		if one.What != schema.Announced {
			said = append(said, fmt.Sprintln(one.ID, one.What, one.At, one.Since, one.Value, one.Text, one.Reason))
		}
	}
	return said
}

// runs has a bench do what runs do, which know of a device what they have folded: it is new until its first reading.
func (b *bench) runs(samples []fold.Sample, jobs []tables.Ticks) []string {
	b.known = fold.Known{New: true}
	for _, job := range jobs {
		n := 0
		for n < len(samples) && samples[n].Key.Ticks <= job {
			n++
		}
		if b.run(job, samples[:n]...); n > 0 {
			b.known = fold.Known{Heard: samples[n-1].Key.Ticks}
		}
		samples = samples[n:]
	}
	return toldBy(b.all)
}

// trial returns what the device of a bench would have done in a time, as furrow rule try does.
func (b *bench) trial(samples []fold.Sample, from, to tables.Ticks) []string {
	b.t.Helper()
	given := func(yield func(fold.Sample, error) bool) {
		for _, s := range samples {
			if !yield(s, nil) {
				return
			}
		}
	}
	var all []schema.Transition
	for one, err := range b.fold.Replay(b.member, fold.Known{New: true}, iter.Seq2[fold.Sample, error](given), from, to) {
		must.Succeed(b.t, err)
		all = append(all, one)
	}
	return toldBy(all)
}

// TestTrialFindsWhatRunsFind has random readings of a device that registered before its first, and runs at random
// times. Silence goes by when readings are found, so there runs find each of them at its own time, and nothing just
// before it.
func TestTrialFindsWhatRunsFind(t *testing.T) {
	found := map[string]int{}
	for seed := range uint64(100) {
		for name, k := range everyKind(t, rand.New(rand.NewPCG(seed, 1))) {
			s := random(rand.New(rand.NewPCG(seed, 2)), false)
			second := func(n int) tables.Ticks { return tables.TicksOf(start.Add(time.Duration(n) * time.Second)) }
			var samples []fold.Sample
			for _, r := range s.readings {
				samples = append(samples, r.sample(second(r.at)))
			}
			var jobs []tables.Ticks
			for _, job := range s.jobs {
				jobs = append(jobs, second(job))
			}
			if strings.HasPrefix(name, "silence") {
				jobs = jobs[:1]
				for n := range s.end {
					jobs = append(jobs, second(n+1)-1, second(n+1))
				}
			}
			bench := func() *bench {
				b := newBench(t, rule("watch", k.kind))
				if name == "counter" {
					b.fold.sensors = &fold.Sensors{Counters: map[string]fold.Counter{"x": {}}}
				}
				return b
			}
			want, got := bench().runs(samples, jobs), bench().trial(samples, second(0), second(s.end))
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s, %s: a trial finds\n%s\nand runs\n%s", seed, name, k.kind, strings.Join(got, ""),
					strings.Join(want, ""))
			}
			found[name] += len(got)
		}
	}
	for name, n := range found {
		if n < 50 {
			t.Errorf("only %d transitions of %s", n, name)
		}
	}
}

// TestTrialOfDosesFindsWhatRunsFind has devices that register before their first dose, some of them days before.
func TestTrialOfDosesFindsWhatRunsFind(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := randomDoses(t, r, "Europe/Rome", "2026-03-29", false)
		s.taken = s.taken[min(len(s.taken), r.IntN(1+len(s.taken))):] // none was taken before
		watch := rule("dose", &Schedule{Times: strings.Join(s.times, ","), Zone: "Europe/Rome", Before: s.before,
			After: s.after, Expect: where(t, "taken > 0")})
		var samples []fold.Sample
		for _, at := range s.taken {
			samples = append(samples, sample(tables.TicksOf(at), "taken", 1))
		}
		var jobs []tables.Ticks
		for _, job := range s.jobs {
			jobs = append(jobs, tables.TicksOf(job))
		}
		for len(samples) > 0 && samples[len(samples)-1].Key.Ticks > jobs[len(jobs)-1] {
			samples = samples[:len(samples)-1] // no run finds it
		}
		want := newBench(t, watch).runs(samples, jobs)
		got := newBench(t, watch).trial(samples, jobs[0], jobs[len(jobs)-1])
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %v: a trial finds\n%s\nand runs\n%s", seed, s.times, strings.Join(got, ""),
				strings.Join(want, ""))
		}
		found += len(got)
	}
	if found < 500 {
		t.Errorf("only %d transitions", found)
	}
}
