package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Log keeps what people did.
type Log struct{ Table *tables.Table }

// NewLog returns the log of the fleet with these names.
func NewLog(c *tables.Client, names schema.Names) Log { return Log{c.Table(names.Activity())} }

// completing limits writing the outcome of an act, also of one that was stopped.
const completing = 20 * time.Second

// What the log could not record.
var (
	// ErrNotBegun means that the act was not done, because the log could not be written.
	ErrNotBegun = errors.New("nothing was done, because the activity log cannot be written")
	// ErrNoOutcome means that the act was done. Only its outcome is missing in the log.
	ErrNoOutcome = errors.New("it is done, but the activity log does not have the outcome")
)

// Do records an act, does it, and records its outcome, so that no act is missing. It sets the ID and the time. An act
// that cannot be recorded is not done, and the error is ErrNotBegun. If only the outcome cannot be recorded, the error
// is ErrNoOutcome.
func (l Log) Do(ctx context.Context, a schema.Act, do func(context.Context) (outcome string, err error)) error {
	a.ID, a.At = rand.Text(), tables.TicksOf(time.Now())
	if err := l.begin(ctx, a); err != nil {
		return fmt.Errorf("%w: %w", ErrNotBegun, err)
	}
	outcome, err := do(ctx)
	a.Outcome, a.Failed = outcome, err != nil
	if err != nil {
		a.Outcome = err.Error()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), completing)
	defer cancel()
	e, errEntity := a.Entity()
	_, errWrite := l.Table.Do(ending, tables.InsertOrReplace(e))
	switch errLog := cmp.Or(errEntity, errWrite); {
	case errLog == nil:
		return err
	case err == nil:
		return fmt.Errorf("%w: %w", ErrNoOutcome, errLog)
	default:
		return errors.Join(err, fmt.Errorf("the activity log does not have this error: %w", errLog))
	}
}

func (l Log) begin(ctx context.Context, a schema.Act) error {
	e, err := a.Entity()
	if err != nil {
		return err
	}
	_, err = l.Table.Do(ctx, tables.InsertOrReplace(e)) // the ID is unique, so that a repeat replaces itself
	if errors.Is(err, tables.ErrNoTable) {
		if err = l.Table.Create(ctx); err == nil {
			_, err = l.Table.Do(ctx, tables.InsertOrReplace(e))
		}
	}
	return err
}

// began is before the first act that any log can have.
func began() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

// Acts yields the acts from a time to another, the newest first: those about a tenant, or for an empty tenant all.
// Those about a tenant are read page by page, and all a month at a time, as storage has them by tenant. A row that
// cannot be read yields a schema.UnreadableError, and the read goes on; after other errors, stop it.
func (l Log) Acts(ctx context.Context, tenant schema.Tenant, from, to time.Time) iter.Seq2[schema.Act, error] {
	return func(yield func(schema.Act, error) bool) {
		if from.Before(began()) {
			from = began()
		}
		rows := schema.ActRows(tables.TicksOf(from), tables.TicksOf(to))
		month := time.Date(to.UTC().Year(), to.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
		for ; month.AddDate(0, 1, 0).After(from); month = month.AddDate(0, -1, 0) {
			within := schema.ActsOfMonth(month)
			if tenant != "" {
				within = tables.Partition(schema.ActPartition(month, tenant))
			}
			within.Rows = rows
			acts := l.read(ctx, within)
			if tenant == "" {
				acts = newestFirst(acts)
			}
			for a, err := range acts {
				if !yield(a, err) {
					return
				}
			}
		}
	}
}

// read yields the acts in a range in storage's order.
func (l Log) read(ctx context.Context, within tables.Range) iter.Seq2[schema.Act, error] {
	return func(yield func(schema.Act, error) bool) {
		for row, err := range l.Table.Entities(ctx, tables.Query{Range: within}) {
			if err != nil {
				yield(schema.Act{}, err)
				return
			}
			a, err := schema.ActOf(row)
			if err != nil {
				err = &schema.UnreadableError{
					Table: l.Table.Name, PartitionKey: row.PartitionKey, RowKey: row.RowKey, Err: err}
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

// newestFirst yields acts of several tenants in the order of time. Errors come first.
func newestFirst(all iter.Seq2[schema.Act, error]) iter.Seq2[schema.Act, error] {
	return func(yield func(schema.Act, error) bool) {
		var acts []schema.Act
		for a, err := range all {
			if err == nil {
				acts = append(acts, a)
			} else if !yield(a, err) {
				return
			}
		}
		slices.SortStableFunc(acts, func(a, b schema.Act) int { return cmp.Compare(b.At, a.At) })
		for _, a := range acts {
			if !yield(a, nil) {
				return
			}
		}
	}
}
