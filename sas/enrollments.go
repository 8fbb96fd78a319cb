package sas

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// LongLife is the longest life of a token that devices of several enrollments may
// have in one readings table. Revoking a device ends the tokens of its whole
// cohort, and who has a long one may not ask for another for weeks: such an
// enrollment has a table to itself, so that no other is locked out with it.
const LongLife = 24 * time.Hour

// Enrollments are the groups of devices that have a key in common. They must not
// be copied after their first use.
type Enrollments struct {
	Table  *tables.Table
	Master Master // seals and opens their keys; where it is zero, what needs keys fails with ErrNoMaster

	recent recent
	opened opened
}

// All are the enrollments in the order of their ids. Where there is no table of
// them there is none.
func (n *Enrollments) All(ctx context.Context) ([]schema.Enrollment, error) {
	var all []schema.Enrollment
	for page, err := range n.Table.Rows(ctx, tables.Query{}) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			e, err := schema.EnrollmentOf(row)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// Get is an enrollment as it is stored now, or ErrNoEnrollment.
func (n *Enrollments) Get(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	row, err := n.Table.Get(ctx, string(id), schema.EnrollmentRow)
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return schema.Enrollment{}, fmt.Errorf("enrollment %s: %w", id, ErrNoEnrollment)
	}
	if err != nil {
		return schema.Enrollment{}, err
	}
	return schema.EnrollmentOf(row)
}

// Add makes an enrollment, or fails with tables.ErrExists. A nil key is made.
func (n *Enrollments) Add(ctx context.Context, e schema.Enrollment, primary, secondary Key) (schema.Enrollment, error) {
	others, err := n.All(ctx)
	if err != nil {
		return e, err
	}
	if err := n.fits(e, others); err != nil {
		return e, err
	}
	if e.Primary, err = n.seal(primary, e.ID, Primary); err != nil {
		return e, err
	}
	if e.Secondary, err = n.seal(secondary, e.ID, Secondary); err != nil {
		return e, err
	}
	e.Admits = max(e.Admits, e.Life+e.Backfill)
	row, err := e.Entity()
	if err != nil {
		return e, err
	}
	written, err := n.Table.Do(ctx, tables.Insert(row))
	if errors.Is(err, tables.ErrExists) {
		return n.inserted(ctx, e)
	}
	if err != nil {
		return e, err
	}
	e.ETag = written.ETags[0]
	return e, nil
}

// inserted tells our own insert, whose answer was lost, from another's: no two
// sealed keys are alike.
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

func (n *Enrollments) seal(k Key, of schema.EnrollmentID, in Rank) ([]byte, error) {
	if k == nil {
		k = NewKey()
	}
	return n.Master.Seal(k, of, in)
}

// fits says why an enrollment cannot be beside the others. They all have one
// master key: two would be a mistake that shows when devices are locked out.
func (n *Enrollments) fits(e schema.Enrollment, others []schema.Enrollment) error {
	for _, o := range others {
		if o.ID == e.ID {
			continue
		}
		if _, err := n.Keys(o); err != nil {
			return err
		}
	}
	return fitsTable(e, others)
}

// fitsTable holds what LongLife says.
func fitsTable(e schema.Enrollment, others []schema.Enrollment) error {
	for _, o := range others {
		if o.ID == e.ID || !strings.EqualFold(o.Readings, e.Readings) { // names of tables do not differ by case alone
			continue
		}
		if long := max(e.Life, o.Life); long > LongLife {
			return fmt.Errorf("enrollments %s and %s would share the readings table %s, and tokens of one live for %s: an enrollment whose tokens live for more than a day needs a table to itself, as revoking there locks devices out until they ask again",
				e.ID, o.ID, e.Readings, schema.Window(long))
		}
	}
	return nil
}
