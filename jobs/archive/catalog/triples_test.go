package catalog_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
)

// standing are machines that stand still for as long as two others act, and where: a publisher that has put a version
// and noted nothing, a checkpoint that was made and is not put, and a job between its put and its commit.
var standing = []struct {
	name string
	at   func(*http.Request) bool
	how  pause
}{
	{"publish", putsLog(".json"), after},
	{"checkpoint", putsLog(".checkpoint.parquet"), before},
	{"late", submits, before},
	{"merge", submits, before},
}

func putsLog(ending string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/_delta_log/") &&
			strings.HasSuffix(r.URL.Path, ending)
	}
}

// submits reports whether a request is a transaction. The columns are there already, so a job has one.
func submits(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "$batch")
}

// TestThreeMachinesLoseNothing: while one stands still, a second stops at an operation, a third acts, the second goes
// on to its end, and then the first.
func TestThreeMachinesLoseNothing(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	all := names()
	tried := 0
	for _, i := range effort.Of(len(standing)*len(all)*len(all), 61) {
		still, second, third := standing[i/len(all)/len(all)], all[i/len(all)%len(all)], all[i%len(all)]
		for n, more := i%effort.Step(7), true; more; n += effort.Step(7) {
			what := fmt.Sprintf("%s stands still, %s stops at operation %d, then %s", still.name, second, n, third)
			w := newWorld(t, a, fmt.Sprint("t", tried))
			tried++
			one := w.stand(t, still.name, still.at, still.how)
			one.next()
			gate := &faults.Gate{At: n, Stop: w.stopped(t, what, before, actors[third])}
			w.must(t, what, actors[second](w.machine(t, gate), t.Context()))
			if one.done {
				t.Errorf("%s: it did not stand still", what)
			}
			one.next()
			w.must(t, what, one.err)
			if w.finish(t, what); t.Failed() {
				t.FailNow()
			}
			more = int(gate.N.Load()) > n
		}
	}
	t.Logf("%d worlds", tried)
}

// stand starts a machine that stops at the first request of a kind.
func (w *world) stand(t testing.TB, name string, at func(*http.Request) bool, how pause) *turn {
	one := newTurn()
	var once sync.Once
	through := faults.Func(func(r *http.Request) (answer *http.Response, err error) {
		send := func() (*http.Response, error) { return w.connections.Do(r) }
		stops := false
		if at(r) {
			once.Do(func() { stops = true })
		}
		if stops && how == after {
			answer, err = send()
			send = func() (*http.Response, error) { return answer, err }
		}
		if stops {
			return one.stop(send)
		}
		return send()
	})
	return one.begin(t, actors[name], w.machine(t, through))
}
