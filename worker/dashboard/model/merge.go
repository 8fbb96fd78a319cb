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

// An answer of several accounts leaves out those that could not be read the last time, unless none could be. They are
// asked again when a poll has read them.

// errLeftOut is why nothing was read from an account.
var errLeftOut = errors.New("cannot be read")

// skips returns errLeftOut for an account that an answer leaves out at once.
func (s *Store) skips(ctx context.Context, a *account) error {
	if !s.several() || !a.failed.Load() {
		return nil
	}
	leave(ctx)
	return fmt.Errorf("storage %s %w", a.Name, errLeftOut)
}

// fails notes that an account cannot be read, unless the request has ended.
func (s *Store) fails(ctx context.Context, a *account, err error) {
	if ctx.Err() == nil && !a.failed.Swap(true) {
		s.log.WarnContext(ctx, "an account of the fleet is left out", "storage", a.Name, "error", err)
	}
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

// everywhere calls read for each account, all at the same time. It leaves out those for which read fails.
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
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, a := range s.accounts {
		if all[i] != nil {
			leave(ctx)
			s.fails(ctx, a, all[i])
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

// merged yields what read yields in each account, in the order of compare, which is that of each account. An account
// that fails meanwhile ends it with an error, because what it has yielded is in the answer already.
func merged[R any](
	ctx context.Context, s *Store, compare func(a, b R) int, read func(*account) iter.Seq2[R, error],
) iter.Seq2[R, error] {
	if !s.several() {
		return read(s.accounts[0])
	}
	return func(yield func(R, error) bool) {
		var heads []*head[R]
		var none R
		// next goes to the next record of an account, and reports whether there is one and whether to go on.
		next := func(h *head[R]) (more, goOn bool) {
			for {
				r, err, more := h.next()
				if !more || err == nil {
					h.record = r
					return more, true
				}
				if !query.GoesOn(err) {
					s.fails(ctx, h.account, err)
				}
				if !yield(none, err) || !query.GoesOn(err) {
					return false, false
				}
			}
		}
		var last error
		left := 0
		for _, a := range s.accounts {
			if err := s.skips(ctx, a); err != nil {
				last, left = err, left+1
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
		if left == len(s.accounts) {
			yield(none, last)
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
