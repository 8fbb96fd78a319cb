package sas

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// Reseal seals the keys of every enrollment with the SealingKey that a former one has sealed, and returns how many
// enrollments those were. Devices' keys stay the same. Each enrollment is one write, so whoever has both sealing keys
// opens all of them at any time. Reseal may be stopped and called again. It goes on after an enrollment whose keys it
// cannot open, and returns the errors. Without an error, no enrollment needs a former key any more.
func (n *Enrollments) Reseal(ctx context.Context) (resealed int, err error) {
	for {
		passed, err := n.resealAll(ctx)
		resealed += passed
		if err != nil || passed == 0 { // a process with the former key may have added or rotated one meanwhile
			return resealed, err
		}
	}
}

func (n *Enrollments) resealAll(ctx context.Context) (resealed int, err error) {
	all, err := n.All(ctx)
	for _, e := range all {
		changed, failed := n.reseal(ctx, e)
		if changed {
			resealed++
		}
		err = errors.Join(err, failed)
	}
	return resealed, err
}

// reseal reports whether the keys of an enrollment were sealed again. They keep their counter, so that endpoints still
// refuse old keys that were put back.
func (n *Enrollments) reseal(ctx context.Context, e schema.Enrollment) (changed bool, err error) {
	own := Enrollments{SealingKey: n.SealingKey.WithoutFormer()}
	for range tries {
		if _, err := own.Keys(e); err == nil {
			return changed, nil
		}
		keys, err := n.Keys(e)
		if err != nil {
			return changed, err
		}
		if err := n.sealAt(&e, counterOf(e.Primary), keys[0], append(keys, nil)[1]); err != nil {
			return changed, err
		}
		if err = n.replace(ctx, &e); err == nil {
			return true, nil
		}
		if !errors.Is(err, tables.ErrConflict) {
			return changed, fmt.Errorf("enrollment %s: %w", e.ID, err)
		}
		changed = true // by us, if only the answer was lost, or by someone else
		if e, err = n.Get(ctx, e.ID); err != nil {
			return changed, err
		}
	}
	return changed, fmt.Errorf("enrollment %s: %w", e.ID, tables.ErrConflict)
}
