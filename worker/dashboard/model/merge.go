package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"furrow/worker/query"
)

// An answer of several accounts leaves out those that could not be read the last time, unless none could be. They are
// asked again when a poll has read them.

// errLeftOut is why nothing was read from an account.
var errLeftOut = errors.New("cannot be read")

// skips returns errLeftOut for an account that an answer leaves out at once.
func (as *Accounts) skips(ctx context.Context, a *account) error {
	if !as.several() || !a.failed.Load() {
		return nil
	}
	leave(ctx)
	return fmt.Errorf("storage %s %w", a.Name, errLeftOut)
}

// fails notes that an account cannot be read, unless the request has ended.
func (as *Accounts) fails(ctx context.Context, a *account, err error) {
	if ctx.Err() == nil && !a.failed.Swap(true) {
		as.log.WarnContext(ctx, "an account of the fleet is left out", "storage", a.Name, "error", err)
	}
}

// everywhere returns what read returns for each account, by number. It reads all at the same time, and leaves out those
// for which read fails.
func everywhere[T any](
	ctx context.Context, as *Accounts, read func(context.Context, *account) (T, error),
) (all []T, err error) {
	all, errs := make([]T, len(as.all)), make([]error, len(as.all))
	if !as.several() {
		all[0], err = read(ctx, as.all[0])
		return all, err
	}
	var reading sync.WaitGroup
	for i, a := range as.all {
		reading.Go(func() {
			if errs[i] = as.skips(ctx, a); errs[i] == nil {
				all[i], errs[i] = read(ctx, a)
			}
		})
	}
	reading.Wait()
	if err := ctx.Err(); err != nil {
		return all, err
	}
	for i, a := range as.all {
		if errs[i] != nil {
			leave(ctx)
			as.fails(ctx, a, errs[i])
		}
	}
	if !slices.Contains(errs, nil) {
		return all, errs[0]
	}
	return all, nil
}

// chained yields what read yields in each account, one after the other.
func chained[R any](ctx context.Context, as *Accounts, read func(*account) iter.Seq2[R, error]) iter.Seq2[R, error] {
	return merged(ctx, as, func(R, R) int { return 0 }, read)
}

// merged yields what read yields in each account, in the order of compare, which is that of each account. An account
// that fails meanwhile ends it with an error, because what it has yielded is in the answer already.
func merged[R any](
	ctx context.Context, as *Accounts, compare func(a, b R) int, read func(*account) iter.Seq2[R, error],
) iter.Seq2[R, error] {
	if !as.several() {
		return read(as.all[0])
	}
	var all []iter.Seq2[R, error]
	var last error
	for _, a := range as.all {
		if err := as.skips(ctx, a); err != nil {
			last = err
			continue
		}
		all = append(all, func(yield func(R, error) bool) {
			for r, err := range read(a) {
				if err != nil && !query.GoesOn(err) {
					as.fails(ctx, a, err)
				}
				if !yield(r, err) {
					return
				}
			}
		})
	}
	if len(all) == 0 {
		return func(yield func(R, error) bool) {
			var none R
			yield(none, last)
		}
	}
	return query.Merge(compare, all...)
}

// joinedReports yields the reports of a tenant in all accounts. A group that has devices in several has one.
func (as *Accounts) joinedReports(ctx context.Context, ask query.ReportQuestion) iter.Seq2[query.Report, error] {
	return query.MergeReports(merged(ctx, as, query.Report.Compare, func(a *account) iter.Seq2[query.Report, error] {
		return a.fleet.Reports().List(ctx, ask)
	}))
}
