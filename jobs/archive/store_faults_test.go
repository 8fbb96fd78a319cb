package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// sizes returns an object that goes in one request, and one that goes in blocks.
func sizes() map[string]int {
	return map[string]int{"small": 10, "blocks": 1 << 10}
}

const count = 40

// writeUntilDone repeats everything after an error, as jobs do.
func writeUntilDone(ctx context.Context, s *Store, fence tables.Ticks, readings []schema.Reading) (err error) {
	for range 20 {
		if err = s.Write(ctx, "o", fence, each(readings...)); err == nil {
			return nil
		}
		fence++
	}
	return err
}

// TestEqualObjectsWithAnyFaultAtAnyOperation, one at a time, for a new object and for a replaced one.
func TestEqualObjectsWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	all := []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone, faults.Late}
	for size, bytesEach := range sizes() {
		s := newShelf(t)
		readings := some(1, count, bytesEach)
		want := packed(t, s, readings)
		for _, replaces := range []bool{false, true} {
			for n := 0; ; n += effort.Step(1) {
				injected := 0
				for _, fault := range all {
					s.clear(t)
					if replaces {
						must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 1, each(some(2, count, bytesEach)...)))
					}
					through := &faults.Transport{Plan: faults.Script{n: fault}, Delay: time.Millisecond}
					if err := writeUntilDone(t.Context(), s.store(t, through), 2, readings); err != nil {
						t.Fatalf("%s, replaces %v: %s at operation %d: %v", size, replaces, fault, n, err)
					}
					if b, _ := s.object(t, "o"); !bytes.Equal(b, want) {
						t.Fatalf("%s, replaces %v: %s at operation %d: the object is not as it should be", size, replaces, fault, n)
					}
					injected += len(through.Injected())
				}
				if injected == 0 {
					t.Logf("%s, replaces %v: %d operations", size, replaces, n)
					break
				}
			}
		}
	}
}

func (s *shelf) clear(t testing.TB) {
	t.Helper()
	_, err := s.account.Blobs(t).DeleteBlob(t.Context(), s.container, "o", nil)
	if !bloberror.HasCode(err, bloberror.BlobNotFound) {
		must.Succeed(t, err)
	}
}

// everyStop writes an object and stops before, then after, each operation.
func everyStop(t *testing.T, do func(t *testing.T, s *shelf, size int, g *faults.Gate, done bool)) {
	for size, bytesEach := range sizes() {
		s := newShelf(t)
		for _, replaces := range []bool{false, true} {
			for n := 0; ; n += effort.Step(1) {
				stopped := false
				for _, done := range []bool{false, true} {
					s.clear(t)
					if replaces {
						must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 1, each(some(3, count, bytesEach)...)))
					}
					g := &faults.Gate{At: n}
					do(t, s, bytesEach, g, done)
					stopped = stopped || int(g.N.Load()) > n
					if t.Failed() {
						t.Fatalf("%s, replaces %v: stopped at operation %d, done %v", size, replaces, n, done)
					}
				}
				if !stopped {
					break
				}
			}
		}
	}
}

// TestObjectIsThereWholeOrAsItWas kills the writer at every operation.
func TestObjectIsThereWholeOrAsItWas(t *testing.T) {
	t.Parallel()
	everyStop(t, func(t *testing.T, s *shelf, size int, g *faults.Gate, done bool) {
		before, _ := s.object(t, "o")
		readings := some(1, count, size)
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		g.Stop = func(send func() (*http.Response, error)) (*http.Response, error) {
			if done {
				if r, err := send(); err == nil {
					r.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}
		err := s.store(t, g).Write(ctx, "o", 2, each(readings...))
		after, _ := s.object(t, "o")
		if err == nil != (ctx.Err() == nil) {
			t.Errorf("killed: %v", err)
		}
		want := packed(t, s, readings)
		if !bytes.Equal(after, before) && !bytes.Equal(after, want) {
			t.Error("something is there that is neither")
		}
		must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 3, each(readings...)))
		if after, _ = s.object(t, "o"); !bytes.Equal(after, want) {
			t.Error("the next writer's is not there")
		}
	})
}

// TestSleeperNeverReplacesANewerObject has a writer sleep at every operation while one of a higher fence, and then one
// of a lower, write theirs.
func TestSleeperNeverReplacesANewerObject(t *testing.T) {
	t.Parallel()
	for _, other := range []tables.Ticks{9, 3} {
		everyStop(t, func(t *testing.T, s *shelf, size int, g *faults.Gate, done bool) {
			mine, others := some(1, count, size), some(2, count, size)
			g.Stop = func(send func() (*http.Response, error)) (r *http.Response, err error) {
				if done {
					r, err = send()
				}
				if wrong := s.store(t, nil).Write(t.Context(), "o", other, each(others...)); wrong != nil &&
					!errors.Is(wrong, commit.ErrOvertaken) {
					t.Error(wrong)
				}
				if !done {
					r, err = send()
				}
				return r, err
			}
			err := s.store(t, g).Write(t.Context(), "o", 5, each(mine...))
			slept := int(g.N.Load()) > g.At
			b, _ := s.object(t, "o")
			if slept && other > 5 && !bytes.Equal(b, packed(t, s, others)) {
				t.Errorf("the newer object is gone, %v", err)
			}
			if slept && other > 5 && !done && !errors.Is(err, commit.ErrOvertaken) {
				t.Errorf("the sleeper was told %v", err)
			}
			if (!slept || other < 5) && err == nil && !bytes.Equal(b, packed(t, s, mine)) {
				t.Error("it was written and is not there")
			}
			if err != nil && other < 5 && !errors.Is(err, errBlocksGone) {
				t.Error(err)
			}
		})
	}
}

// TestSleeperThatFoundNothingIsRefused: an object appears between its search and its second try.
func TestSleeperThatFoundNothingIsRefused(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	others := some(2, 3, 10)
	g := &faults.Gate{At: 1, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		must.Succeed(t, s.store(t, nil).Write(t.Context(), "o", 9, each(others...)))
		return send()
	}}
	through := &faults.Transport{Plan: faults.Script{0: faults.ServerBusy}, Next: faults.Func(g.Do)}
	err := s.store(t, through).Write(t.Context(), "o", 5, each(some(1, 3, 10)...))
	if b, _ := s.object(t, "o"); !errors.Is(err, commit.ErrOvertaken) || !bytes.Equal(b, packed(t, s, others)) {
		t.Errorf("the sleeper was told %v", err)
	}
}

func TestLostAnswerNeedsNoSecondWrite(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	var counter service.Counts[Kind]
	store := s.connect(t, StoreConfig{OnOperation: counting(&counter), Retry: policy.RetryOptions{MaxRetries: -1},
		Transport: &faults.Transport{Plan: faults.Script{0: faults.AnswerLost}}})
	must.Succeed(t, store.Write(t.Context(), "o", 1, each(some(1, 3, 10)...)))
	if got := fmt.Sprint(counter.Map()); got != "map[put object:1 look at object:1]" {
		t.Error(got)
	}
}
