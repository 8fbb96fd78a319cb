package catalog_test

import (
	"fmt"
	"net/http"
	"testing"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
)

// TestMachinesTakeTurns: a machine stops before an operation, another stops before one of its own, the first goes on
// to its end, and then the second.
func TestMachinesTakeTurns(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	tried := 0
	turns := func(w *world, what, first, second string, n, m int) (one, two bool) {
		if one, two = w.turns(t, what, first, second, n, m); t.Failed() {
			t.FailNow()
		}
		tried++
		return one, two
	}
	for n, more := 0, true; more; n += effort.Step(3) { // while the day has no file
		for _, m := range effort.Of(20, 7) {
			what := fmt.Sprintf("late rows stop at %d, an erasure at %d", n, m)
			w := emptyWorld(t, a, fmt.Sprint("e", tried))
			w.send(june, "a/1", "b/1")
			more, _ = turns(w, what, "late", "erase", n, m)
		}
	}
	const last = 29     // beyond its operations, neither stops
	from, step := 0, 15 // other ones in each pair: all of them would be 44,000 worlds, which take an hour
	if effort.Long() {
		step = 5
	}
	for _, first := range names() {
		for _, second := range names() {
			for n, more := from, true; more && n <= last; n += step {
				more = false
				for m, two := from, true; two && m <= last; m += step {
					what := fmt.Sprintf("%s stops at %d, %s at %d", first, n, second, m)
					one := false
					one, two = turns(newWorld(t, a, fmt.Sprint("w", tried)), what, first, second, n, m)
					more = more || one
				}
			}
			from = (from + 1) % step
		}
	}
	t.Logf("%d worlds", tried)
}

// turns reports which of the two machines had more operations.
func (w *world) turns(t testing.TB, what, first, second string, n, m int) (bool, bool) {
	t.Helper()
	one, two := w.start(t, first, n), w.start(t, second, m)
	for _, turn := range []*turn{one, two, one, two} {
		turn.next()
	}
	for _, turn := range []*turn{one, two} {
		w.must(t, what, turn.err)
	}
	w.finish(t, what)
	return int(one.gate.N.Load()) > n, int(two.gate.N.Load()) > m
}

// A turn is a machine that works until it stops, and then to its end, each when it is told to.
type turn struct {
	gate    *faults.Gate
	proceed chan struct{}
	over    chan struct{} // it has stopped, or come to its end
	err     error
	done    bool
}

func newTurn() *turn { return &turn{proceed: make(chan struct{}), over: make(chan struct{})} }

func (w *world) start(t testing.TB, name string, n int) *turn {
	one := newTurn()
	one.gate = &faults.Gate{At: n, Stop: one.stop}
	return one.begin(t, actors[name], w.machine(t, one.gate))
}

func (one *turn) stop(send func() (*http.Response, error)) (*http.Response, error) {
	one.over <- struct{}{}
	<-one.proceed
	return send()
}

func (one *turn) begin(t testing.TB, does act, m *machine) *turn {
	go func() {
		<-one.proceed
		one.err = does(m, t.Context())
		one.done = true
		one.over <- struct{}{}
	}()
	return one
}

// next has the machine work until it stops or comes to its end.
func (one *turn) next() {
	if !one.done {
		one.proceed <- struct{}{}
		<-one.over
	}
}
