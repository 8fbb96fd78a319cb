package sas

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// Change changes an enrollment and returns the stored result. It may call change several
// times, and stops at its first error. Endpoints use the result within Recent. Admits, the
// maximum age of a row when it is stored, never decreases.
func (n *Enrollments) Change(
	ctx context.Context, id schema.EnrollmentID, change func(*schema.Enrollment) error,
) (e schema.Enrollment, err error) {
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
		if err = n.replace(ctx, &e); err == nil && concernsOthers(was, e) {
			return n.undoUnfit(ctx, was, e)
		}
		if !errors.Is(err, tables.ErrConflict) {
			return e, err
		}
	}
	return e, err
}

// concernsOthers reports whether a change of an enrollment may have it not fit beside others.
func concernsOthers(was, e schema.Enrollment) bool {
	return e.Life != was.Life || e.Readings != was.Readings || e.Prefix != was.Prefix
}

// undoUnfit undoes a change of an enrollment if another was added or changed at the same time beside which it does not
// fit: at least the later one of the two sees the other.
func (n *Enrollments) undoUnfit(ctx context.Context, was, e schema.Enrollment) (schema.Enrollment, error) {
	others, err := n.All(ctx)
	if err == nil {
		err = cmp.Or(fitsTable(e, others), fitsPrefix(e, others))
	}
	if err == nil {
		return e, nil
	}
	was.ETag, was.Admits = e.ETag, e.Admits // a token may have been issued meanwhile
	if errBack := n.replace(context.WithoutCancel(ctx), &was); errBack != nil {
		return e, fmt.Errorf("enrollment %s is changed, but must not stay so: %w; the change cannot be undone: %w",
			e.ID, err, errBack)
	}
	return was, fmt.Errorf("enrollment %s is not changed: %w", e.ID, err)
}

func (n *Enrollments) stillFits(ctx context.Context, was, e schema.Enrollment) error {
	if err := fitsCommands(e); err != nil {
		return err
	}
	if !concernsOthers(was, e) {
		return nil
	}
	others, err := n.All(ctx)
	if err != nil {
		return err
	}
	return cmp.Or(fitsTable(e, others), fitsPrefix(e, others))
}

func (n *Enrollments) replace(ctx context.Context, e *schema.Enrollment) error {
	return write(ctx, n.Table, e, &e.ETag)
}

// Rotate gives an enrollment a new primary key. The old primary becomes the secondary, so
// devices with keys derived from it continue to work. Keys derived from the old secondary stop
// working. Concurrent calls rotate only once, since two rotations would invalidate the old
// primary as well: the later call fails with tables.ErrConflict.
func (n *Enrollments) Rotate(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	var was, rotated schema.Enrollment
	return n.Change(ctx, id, func(e *schema.Enrollment) error {
		if was.ID == "" {
			was, rotated = *e, *e
			old, err := n.SealingKey.Open(e.Primary, id, Primary)
			if err != nil {
				return fmt.Errorf("enrollment %s: its primary key: %w", id, err)
			}
			if err := n.seal(&rotated, nil, old); err != nil {
				return err
			}
		}
		switch {
		case bytes.Equal(e.Primary, rotated.Primary):
			return nil // our own change, whose response was lost
		case !bytes.Equal(e.Primary, was.Primary):
			return fmt.Errorf("enrollment %s was rotated by someone else: %w", id, tables.ErrConflict)
		}
		e.Primary, e.Secondary = rotated.Primary, rotated.Secondary
		return nil
	})
}
