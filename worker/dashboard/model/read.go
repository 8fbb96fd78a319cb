package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// ErrUnknown means that there is no such device or tenant.
var ErrUnknown = errors.New("not found")

// What is unknown, too.
var (
	// ErrWholeFleet means that a question is about all tenants, and whoever asks may see one.
	ErrWholeFleet = fmt.Errorf("about the whole fleet: %w", ErrUnknown)
	// ErrNoIncident means that there is no such incident.
	ErrNoIncident = fmt.Errorf("incident: %w", ErrUnknown)
)

// A TenantError means that there is no such tenant, or that whoever asks may not see it.
type TenantError struct{ Tenant string }

func (e *TenantError) Error() string { return fmt.Sprintf("tenant %s: %v", e.Tenant, ErrUnknown) }

// Unwrap returns ErrUnknown.
func (*TenantError) Unwrap() error { return ErrUnknown }

// A QueryError says what is wrong with a query and what is allowed.
type QueryError struct {
	Detail string
	Param  string // the parameter that is wrong; empty: several, or none
}

func (e *QueryError) Error() string { return e.Detail }

func queryErrorf(format string, args ...any) error {
	return &QueryError{Detail: fmt.Sprintf(format, args...)}
}

// ofParam says which parameter a QueryError is about, unless it is known.
func ofParam(name string, err error) error {
	if wrong, is := errors.AsType[*QueryError](err); is {
		wrong.Param = cmp.Or(wrong.Param, name)
	}
	return err
}

// concurrency is how many reads one answer makes at a time.
const concurrency = 8

// each calls do for all numbers below n, several at a time. The first error cancels the others.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// cut yields the records that can be read of ranges that may have more of them than were asked for, and sets more if
// one has.
func cut[R any](records iter.Seq2[R, error], more *bool) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for r, err := range query.Readable(records, new(query.Skipped)) {
			if errors.Is(err, query.ErrMore) {
				*more = true
			} else if !yield(r, err) {
				return
			}
		}
	}
}

func unreadableOf(skipped ...query.Skipped) (all []Unreadable) {
	for _, s := range skipped {
		for _, err := range s.First {
			e, _ := errors.AsType[*schema.UnreadableError](err)
			reason := e.Err.Error()
			if e.Property != "" {
				reason = e.Property + ": " + reason
			}
			all = append(all, Unreadable{e.Table, e.RowKey, reason})
		}
	}
	return all
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
