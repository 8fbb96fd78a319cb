package sas

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// LongLife is the longest token life for enrollments that share a readings table. Revoking a
// device ends the tokens of its whole cohort, and a device with a longer token may not request
// another for weeks. An enrollment with a longer life therefore needs its own table, so that
// revoking its devices locks out no others.
const LongLife = 24 * time.Hour

// Enrollments stores groups of devices whose keys derive from a common key. It must not be
// copied after first use.
type Enrollments struct {
	Table      *tables.Table
	SealingKey SealingKey // if zero, operations that need keys fail with ErrNoSealingKey
	// Reread returns the sealing key as it is now, and opens keys that SealingKey does not. It may be nil.
	Reread func() SealingKey

	recent recent
	newest map[schema.EnrollmentID]int64 // counters of the keys that Find returned; guarded by recent.mu
	opened sync.Map                      // unsealed keys by enrollment, rank and sealed key
}

// All returns the enrollments in the order of their IDs. Without a table there are none. If some
// cannot be read, for example because a newer program wrote them, it returns the others and an
// error that names the first of these.
func (n *Enrollments) All(ctx context.Context) ([]schema.Enrollment, error) {
	byID, err := n.readAll(ctx)
	var all []schema.Enrollment
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if f := byID[id]; f.err == nil {
			all = append(all, f.enrollment)
		} else {
			err = cmp.Or(err, f.err)
		}
	}
	return all, err
}

// Get returns an enrollment as it is stored now, or ErrNoEnrollment.
func (n *Enrollments) Get(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	row, err := n.Table.Get(ctx, string(id), schema.EnrollmentRow)
	if tables.Absent(err) {
		return schema.Enrollment{}, fmt.Errorf("enrollment %s: %w", id, ErrNoEnrollment)
	}
	if err != nil {
		return schema.Enrollment{}, err
	}
	return schema.EnrollmentOf(row)
}

// AtExpiry reports whether no revocation ends tokens of a device before they expire.
func (n *Enrollments) AtExpiry(ctx context.Context, d schema.Device) (bool, error) {
	if d.Enrollment == "" {
		return false, nil
	}
	e, err := n.Get(ctx, d.Enrollment)
	if errors.Is(err, ErrNoEnrollment) {
		return false, nil
	}
	return e.AtExpiry, err
}

// Add stores a new enrollment, or fails with tables.ErrExists. It generates nil keys.
func (n *Enrollments) Add(ctx context.Context, e schema.Enrollment, primary, secondary Key) (schema.Enrollment, error) {
	others, err := n.All(ctx)
	if err != nil {
		return e, err
	}
	if err := n.fits(e, others); err != nil {
		return e, err
	}
	if err := n.seal(&e, primary, secondary); err != nil {
		return e, err
	}
	e.Admits = max(e.Admits, e.Life+e.Backfill)
	e.ETag = ""
	err = write(ctx, n.Table, e, &e.ETag)
	if errors.Is(err, tables.ErrExists) {
		return n.inserted(ctx, e)
	}
	if err != nil {
		return e, err
	}
	return e, n.stillAlone(ctx, e)
}

// stillAlone removes an enrollment that was just added if another was added or changed at the same time beside which it
// does not fit: at least the later one of the two sees the other.
func (n *Enrollments) stillAlone(ctx context.Context, e schema.Enrollment) error {
	others, err := n.All(ctx)
	if err == nil {
		err = cmp.Or(fitsTable(e, others), fitsPrefix(e, others))
	}
	if err == nil {
		return nil
	}
	pk, rk := string(e.ID), schema.EnrollmentRow
	if _, errDelete := n.Table.Do(context.WithoutCancel(ctx), tables.Delete(pk, rk, e.ETag)); errDelete != nil {
		return fmt.Errorf("enrollment %s is added, but must not be used: %w; it cannot be removed: %w", e.ID, err, errDelete)
	}
	return fmt.Errorf("enrollment %s is not added: %w", e.ID, err)
}

// inserted distinguishes our own insert, whose response was lost, from one by another process:
// sealed keys are unique.
func (n *Enrollments) inserted(ctx context.Context, e schema.Enrollment) (schema.Enrollment, error) {
	stored, err := n.Get(ctx, e.ID)
	if err != nil {
		return e, err
	}
	if !bytes.Equal(stored.Primary, e.Primary) {
		return stored, fmt.Errorf("enrollment %s: %w", e.ID, tables.ErrExists)
	}
	return stored, nil
}

// fits returns why an enrollment cannot be added to the others. All must share one sealing
// key: a second one is a mistake that would otherwise show when devices are locked out.
func (n *Enrollments) fits(e schema.Enrollment, others []schema.Enrollment) error {
	for _, o := range others {
		if o.ID == e.ID {
			continue
		}
		if _, err := n.Keys(o); err != nil {
			return err
		}
	}
	return cmp.Or(fitsCommands(e), fitsTable(e, others), fitsPrefix(e, others))
}

// fitsCommands refuses commands to devices that request tokens rarely: all enrollments share the table of commands, so
// revoking any device would keep them from reading theirs.
func fitsCommands(e schema.Enrollment) error {
	if e.Commands && e.Life > LongLife {
		return fmt.Errorf("enrollment %s: with commands, a token may live for a day at most, not for %s: a revocation ends "+
			"tokens for commands of other devices too, until they request a new one", e.ID, schema.Window(e.Life))
	}
	return nil
}

// fitsTable enforces LongLife, and one spelling of a table's name, since each spelling would have policies of its own.
func fitsTable(e schema.Enrollment, others []schema.Enrollment) error {
	for _, o := range others {
		if o.ID == e.ID || !strings.EqualFold(o.Readings, e.Readings) { // table names are case-insensitive
			continue
		}
		if e.Readings != o.Readings {
			return fmt.Errorf("the readings table %s of enrollment %s is %s to storage, too: write it as %[1]s",
				o.Readings, o.ID, e.Readings)
		}
		if long := max(e.Life, o.Life); long > LongLife {
			return fmt.Errorf("enrollments %s and %s would share the readings table %s, and tokens of one live for %s: "+
				"an enrollment with tokens for more than a day needs its own table, because a revocation there locks out "+
				"devices until they request a new token", e.ID, o.ID, e.Readings, schema.Window(long))
		}
	}
	return nil
}
