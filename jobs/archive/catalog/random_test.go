package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
)

// TestManyMachinesLoseNothing: machines do all of it at the same time, some are killed, and storage has faults:
// answers that are lost, requests that arrive late or twice.
func TestManyMachinesLoseNothing(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for range effort.Of(300, 12) {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			w := newWorld(t, a, fmt.Sprint("w", seed))
			w.chaos(t, seed)
			if !t.Failed() {
				w.finish(t, fmt.Sprint("seed ", seed))
			}
		})
	}
}

// chaos has four machines do six things each.
func (w *world) chaos(t *testing.T, seed uint64) {
	var all sync.WaitGroup
	for n := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, n))
		all.Go(func() {
			for range 6 {
				w.act(t, r)
			}
		})
	}
	all.Wait()
}

// act has a machine do something, and kills it perhaps.
func (w *world) act(t *testing.T, r *rand.Rand) {
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	storage := &faults.Transport{Delay: time.Duration(1+r.IntN(20)) * time.Millisecond,
		Plan: faults.Random{Seed: r.Uint64(), Rates: map[faults.Fault]float64{faults.AnswerLost: 0.02, faults.Twice: 0.02,
			faults.Late: 0.05, faults.Stalled: 0.05, faults.ServerBusy: 0.01, faults.TimedOutDone: 0.01}}}
	last := 1 + r.Int32N(90) // operation
	var n atomic.Int32
	dying := faults.Func(func(req *http.Request) (*http.Response, error) {
		if n.Add(1) == last {
			kill()
		}
		return storage.Do(req)
	})
	// Nobody is away for days here: one that is killed then, between putting a blob and giving it up, leaves it.
	able := slices.DeleteFunc(names(), func(name string) bool { return name == "days later" })
	name := able[r.IntN(len(able))]
	if err := actors[name](w.machine(t, dying), ctx); errors.Is(err, catalog.ErrForeign) {
		t.Errorf("%s: %v", name, err)
	}
}
