package sas

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// Change changes an enrollment, and returns it as it is stored then. The change
// may be asked for several times; its error ends it. An endpoint goes by it
// within Recent. How old a row may be when it is stored (Admits) never falls.
func (n *Enrollments) Change(ctx context.Context, id schema.EnrollmentID, change func(*schema.Enrollment) error) (e schema.Enrollment, err error) {
	for range tries {
		if e, err = n.Get(ctx, id); err != nil {
			return e, err
		}
		was := e
		if err := change(&e); err != nil {
			return e, err
		}
		e.Admits = max(was.Admits, e.Admits, e.Life+e.Backfill)
		if err := n.stillFits(ctx, was, e); err != nil {
			return e, err
		}
		if err = n.replace(ctx, &e); !errors.Is(err, tables.ErrConflict) {
			return e, err
		}
	}
	return e, err
}

func (n *Enrollments) stillFits(ctx context.Context, was, e schema.Enrollment) error {
	if e.Life == was.Life && e.Readings == was.Readings {
		return nil
	}
	others, err := n.All(ctx)
	if err != nil {
		return err
	}
	return fitsTable(e, others)
}

func (n *Enrollments) replace(ctx context.Context, e *schema.Enrollment) error {
	row, err := e.Entity()
	if err != nil {
		return err
	}
	written, err := n.Table.Do(ctx, tables.Replace(row, e.ETag))
	if err == nil {
		e.ETag = written.ETags[0]
	}
	return err
}

// Rotate gives an enrollment a new primary key. The old one becomes the secondary,
// so that the devices whose keys come from it go on; the old secondary ends, and
// with it what was derived from it. One rotation never becomes two, which would
// end the primary as well: where another was quicker, it fails with
// tables.ErrConflict.
func (n *Enrollments) Rotate(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	next, err := n.seal(nil, id, Primary)
	if err != nil {
		return schema.Enrollment{}, err
	}
	var first []byte
	return n.Change(ctx, id, func(e *schema.Enrollment) error {
		if first == nil {
			first = e.Primary
		}
		switch {
		case bytes.Equal(e.Primary, next):
			return nil // it was us, and the answer was lost
		case !bytes.Equal(e.Primary, first):
			return fmt.Errorf("enrollment %s was rotated by someone else: %w", id, tables.ErrConflict)
		}
		old, err := n.Master.Open(e.Primary, id, Primary)
		if err != nil {
			return fmt.Errorf("enrollment %s: its primary key: %w", id, err)
		}
		if e.Secondary, err = n.seal(old, id, Secondary); err != nil {
			return err
		}
		e.Primary = next
		return nil
	})
}
