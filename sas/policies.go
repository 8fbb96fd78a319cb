package sas

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Policies manages the stored access policies to which tokens refer. Replacing a policy ends
// its tokens. A readings table can have five policies: its devices are divided into four
// cohorts with one policy each, and the fifth is a spare, so that a cohort can move to a policy
// that is already in force. A row of the table policies (the record) is authoritative. The
// table's own list of policies is set from the record, and no policy ID is ever reused. Any
// number of processes may do all of this concurrently, and each completes what another began.
//
// A revocation takes these steps:
//
//  1. Add the change to the record, with the next number.
//  2. Mark the device: set its own record to "revoked", by compare-and-swap.
//  3. Move its cohort to the spare and create a new spare, by compare-and-swap on the version
//     of the record that named the marked devices.
//  4. Set the table's list from the record as it is then, and read it back.
//  5. Record since when each policy is in the list, so that processes can wait until it is in
//     force.
//
// Why no token of a revoked device works: a token refers to the policy that its cohort had when
// its issuing began, and its device was active after that (see Issuer). If the policy was read
// before step 3, it is the one that step 3 removes from the record, or an older one, and step 4
// removes it from the table. If it was read after step 3, step 2 had marked the device before,
// so the device was not active. Step 3 swaps the version whose changes were all marked, so one
// rotation covers every change in it and none that came later.
//
// Why a slow process cannot undo a change: changes of a device are numbered, its record holds
// the number of the last one, and a mark is only written over a lower number. Everything else is
// swapped on the version that was read, except the table's list, which has no version. A
// delayed request to set the list could therefore restore an old list and revive a policy. For
// this reason that request is sent once, within seconds of reading the record. Run compares list
// and record as long as it runs, and a change stays open until the two have agreed for a minute.
//
// Why no other device is locked out: only a cohort that a rotation moves loses its policy. Its
// devices get a token for the new policy at once or, if that is too young to be in force
// everywhere, are told how long to wait. A policy that was missing from the table counts as new.
type Policies struct {
	Client *tables.Client
	Names  schema.Names
	Delay  time.Duration // until a new policy is in force everywhere: 30 s on Azure; zero: at once
	Log    *slog.Logger  // nil means slog.Default()

	reads sharedReads
	state repairState
}

func (p *Policies) log() *slog.Logger { return cmp.Or(p.Log, slog.Default()) }

func (p *Policies) table() *tables.Table { return p.Client.Table(p.Names.Policies()) }

// Ensure creates a readings table, its policies and their record as far as they are missing. It
// is safe to call concurrently.
func (p *Policies) Ensure(ctx context.Context, readings string) error {
	_, _, err := p.read(ctx, readings)
	if tables.Absent(err) {
		err = p.create(ctx, readings)
	}
	if err == nil {
		_, err = p.reconcile(ctx, readings)
	}
	return err
}

// create inserts a record with new policies, and creates missing tables. It refuses a second spelling of a table that
// has a record: to storage, both are one table with one list of policies, which each record would set to its own.
func (p *Policies) create(ctx context.Context, readings string) error {
	names, err := p.list(ctx)
	if err != nil && !tables.Absent(err) {
		return err
	}
	for _, name := range names {
		if name != readings && strings.EqualFold(name, readings) {
			return fmt.Errorf("the readings table %s is %s to storage, too: write it as %[1]s", name, readings)
		}
	}
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
		return nil // by another process, or by a request whose response was lost
	}
	return err
}

// newPolicy returns a policy with 128 random bits as ID: reusing an ID would revive old tokens.
func newPolicy() schema.Policy { return schema.Policy{ID: rand.Text()} }

// longAgo is the start of all policies: no restriction.
var longAgo = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// stored returns a policy of a table as the table holds it. It has no expiry, since that is part of the token and must
// not depend on the policy. Permissions are part of the token, too, except of those that read commands: Azurite knows
// a token's permissions by its policy alone, and takes one without any for one that may add.
func (p *Policies) stored(table string, one schema.Policy) tables.StoredPolicy {
	policy := tables.StoredPolicy{ID: one.ID, Start: longAgo}
	if table == p.Names.Commands() {
		policy.Permissions = "r"
	}
	return policy
}

// read returns the record of a table's policies and storage's time. Without a record it fails
// with ErrNotFound or ErrNoTable.
func (p *Policies) read(ctx context.Context, readings string) (schema.Policies, time.Time, error) {
	// Unlike a Get, a query returns storage's time.
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

// swap replaces the version of the record that was read.
func (p *Policies) swap(ctx context.Context, record schema.Policies) error {
	return write(ctx, p.table(), &record, &record.ETag)
}
