package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"furrow/worker/query"
)

// An answer of several accounts leaves out those that cannot be read, unless none can be. An account that a poll could
// not read is not asked again until one can.

// errLeftOut is why nothing was read from an account: the last poll has failed.
var errLeftOut = errors.New("cannot be read")

// skips returns errLeftOut for an account that an answer leaves out at once.
func (s *Store) skips(ctx context.Context, a *account) error {
	if !s.several() || !a.failed.Load() {
		return nil
	}
	leave(ctx)
	return fmt.Errorf("storage %s %w", a.Name, errLeftOut)
}

// leftOut notes that an account could not be read. It returns nil if the answer is to leave it out.
func (s *Store) leftOut(ctx context.Context, a *account, err error) error {
	switch {
	case errors.Is(err, errLeftOut):
		return nil
	case err == nil, !s.several(), ctx.Err() != nil:
		return err
	}
	leave(ctx)
	if !a.failed.Swap(true) {
		s.log.WarnContext(ctx, "an account of the fleet is left out", "storage", a.Name, "error", err)
	}
	return nil
}

type partialKey struct{}

// partly returns a context, and whether an answer within it has left out an account.
func partly(ctx context.Context) (context.Context, *atomic.Bool) {
	partial := new(atomic.Bool)
	return context.WithValue(ctx, partialKey{}, partial), partial
}

func leave(ctx context.Context) {
	if partial, ok := ctx.Value(partialKey{}).(*atomic.Bool); ok {
		partial.Store(true)
	}
}

// everywhere calls read for each account, all at the same time.
func (s *Store) everywhere(ctx context.Context, read func(context.Context, *account) error) error {
	if !s.several() {
		return read(ctx, s.accounts[0])
	}
	all := make([]error, len(s.accounts))
	var reading sync.WaitGroup
	for i, a := range s.accounts {
		reading.Go(func() {
			if all[i] = s.skips(ctx, a); all[i] == nil {
				all[i] = read(ctx, a)
			}
		})
	}
	reading.Wait()
	for i, a := range s.accounts {
		if err := s.leftOut(ctx, a, all[i]); err != nil {
			return err
		}
	}
	if !slices.Contains(all, nil) {
		return all[0]
	}
	return nil
}

// chained yields what read yields in each account, one after the other.
func chained[R any](ctx context.Context, s *Store, read func(*account) iter.Seq2[R, error]) iter.Seq2[R, error] {
	return merged(ctx, s, func(R, R) int { return 0 }, read)
}

// merged yields what read yields in each account, in the order of compare, which is that of each account.
func merged[R any](
	ctx context.Context, s *Store, compare func(a, b R) int, read func(*account) iter.Seq2[R, error],
) iter.Seq2[R, error] {
	if !s.several() {
		return read(s.accounts[0])
	}
	return func(yield func(R, error) bool) {
		var heads []*head[R]
		failed := 0
		fails := func(a *account, err error) (goOn bool) {
			if failed++; failed < len(s.accounts) && s.leftOut(ctx, a, err) == nil {
				return true
			}
			var none R
			yield(none, err)
			return false
		}
		// next goes to the next record of an account, and reports whether there is one and whether to go on.
		next := func(h *head[R]) (more, goOn bool) {
			for {
				r, err, more := h.next()
				switch {
				case !more || err == nil:
					h.record = r
					return more, true
				case !query.GoesOn(err):
					return false, fails(h.account, err)
				case !yield(r, err):
					return false, false
				}
			}
		}
		for _, a := range s.accounts {
			if err := s.skips(ctx, a); err != nil {
				if !fails(a, err) {
					return
				}
				continue
			}
			pull, stop := iter.Pull2(read(a))
			defer stop()
			h := &head[R]{account: a, next: pull}
			more, goOn := next(h)
			if !goOn {
				return
			}
			if more {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			least := slices.MinFunc(heads, func(a, b *head[R]) int { return compare(a.record, b.record) })
			if !yield(least.record, nil) {
				return
			}
			more, goOn := next(least)
			if !goOn {
				return
			}
			if !more {
				heads = slices.DeleteFunc(heads, func(h *head[R]) bool { return h == least })
			}
		}
	}
}

// A head is the next record of an account.
type head[R any] struct {
	account *account
	record  R
	next    func() (R, error, bool)
}
