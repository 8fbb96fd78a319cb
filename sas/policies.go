package sas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Policies are the stored access policies that tokens hang on, and by which they
// are taken away. A readings table can have five: its devices fall into four
// cohorts with a policy each, and the fifth is a spare, so that a cohort can move
// on to a policy that is in force already. A row of the table policies (the
// record, below) is the truth; the table's own list is set to what the record
// says, and no policy's id is ever used again. Any number of processes may do all of
// this side by side, and each carries on what another has left.
//
// A revocation goes so:
//
//  1. The change is written into the record, with the next number.
//  2. The device is marked: its own record says "revoked", by compare-and-swap.
//  3. Its cohort moves on to the spare, and there is a new spare, by
//     compare-and-swap on the version of the record that named the marked devices.
//  4. The table's list is set to the record as it is then, and read back.
//  5. Policies that were seen in the list are dated: they can be waited for.
//
// Why no token of a revoked device works then. A token hangs on the policy that its
// cohort had when its issuing began, and a device that gets one was active
// after that (see Issuer). Was the policy read before step 3, it is the one that
// step 3 takes out of the record, or an older one; step 4 takes it out of the table.
// Was it read after step 3, the device had been marked before, by step 2, and is
// not active. As step 3 swaps the version whose changes were all marked, one
// rotation serves every change that was in it, and none that came later.
//
// Why a change is never undone by a slow helper. Changes of a device are numbered,
// the number of the last one is in the device's record, and a mark is written only
// over a lower one. All else is swapped on the version that was read, but for the
// table's list, which has no version. So a request to set it that was on its way
// for long can put an old list over a new one, and revive a policy. That is why it
// is asked once, within seconds of reading the record, why Run compares list and
// record for as long as it runs, and why a change stays open, for all to see, until the
// two have agreed for a minute.
//
// Why no good device is shut out. Only a cohort that a rotation moves loses its
// policy; a device of it gets a token on the new one at once, or, where that is too
// young to hold everywhere, is told how long to wait. A policy found missing from
// the table counts as new.
type Policies struct {
	Client *tables.Client
	Names  schema.Names
	Delay  time.Duration // until a policy that was set holds everywhere: 30 s on Azure; zero where it does at once
	Log    *slog.Logger  // nil means slog.Default()

	reads shared
	watch watch
}

func (p *Policies) log() *slog.Logger {
	if p.Log == nil {
		return slog.Default()
	}
	return p.Log
}

func (p *Policies) table() *tables.Table { return p.Client.Table(p.Names.Policies()) }

// Ensure makes what is missing of a readings table, its policies, and their
// record. Several may do so at once.
func (p *Policies) Ensure(ctx context.Context, readings string) error {
	_, _, err := p.read(ctx, readings)
	if missing(err) {
		err = p.found(ctx, readings)
	}
	if err == nil {
		_, err = p.settle(ctx, readings)
	}
	return err
}

func missing(err error) bool {
	return errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable)
}

// found makes a record with new policies, and the tables where there are none.
func (p *Policies) found(ctx context.Context, readings string) error {
	record := schema.Policies{Readings: readings}
	for _, policy := range record.All() {
		*policy = newPolicy()
	}
	e, err := record.Entity()
	if err != nil {
		return err
	}
	for _, table := range []*tables.Table{p.Client.Table(readings), p.table()} {
		if err := table.Create(ctx); err != nil {
			return err
		}
	}
	if _, err = p.table().Do(ctx, tables.Insert(e)); errors.Is(err, tables.ErrExists) {
		return nil // another has made it, or a lost answer was to this
	}
	return err
}

// newPolicy has an id of 128 random bits: policies made again under an old id
// would revive its tokens.
func newPolicy() schema.Policy { return schema.Policy{ID: rand.Text()} }

// longAgo is when policies start: a start that is no limit.
var longAgo = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// stored is what a table holds of a policy. It has no permissions and no expiry:
// those are in the token, so that whatever befalls a policy, its tokens add and end.
func stored(p schema.Policy) tables.StoredPolicy {
	return tables.StoredPolicy{ID: p.ID, Start: longAgo}
}

// read is the record of a table's policies, and storage's time. It fails with
// ErrNotFound or ErrNoTable where there is none.
func (p *Policies) read(ctx context.Context, readings string) (schema.Policies, time.Time, error) {
	// A query: unlike a Get it tells the time.
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(readings), Rows: tables.Is(schema.PoliciesRow)}}
	for page, err := range p.table().Rows(ctx, q) {
		if err != nil {
			return schema.Policies{}, time.Time{}, err
		}
		if page.Time.IsZero() {
			page.Time = time.Now()
		}
		if len(page.Rows) > 0 {
			record, err := schema.PoliciesOf(page.Rows[0])
			return record, page.Time, err
		}
	}
	return schema.Policies{}, time.Time{}, fmt.Errorf("policies of the table %s: %w", readings, tables.ErrNotFound)
}

// swap writes a record over the version that it was read as.
func (p *Policies) swap(ctx context.Context, record schema.Policies) error {
	e, err := record.Entity()
	if err != nil {
		return err
	}
	_, err = p.table().Do(ctx, tables.Replace(e, record.ETag))
	return err
}
