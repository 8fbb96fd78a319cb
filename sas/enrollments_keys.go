package sas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables/schema"
)

// Keys returns the primary key of an enrollment and, if it has one, the secondary key. They are
// sealed together: with an older one among them, it fails with ErrOldKey.
func (n *Enrollments) Keys(e schema.Enrollment) (keys []Key, err error) {
	for _, s := range []struct {
		rank   Rank
		sealed []byte
	}{{Primary, e.Primary}, {Secondary, e.Secondary}} {
		if len(s.sealed) == 0 && s.rank == Secondary {
			continue
		}
		k, err := n.open(s.sealed, e.ID, s.rank)
		if err == nil && counterOf(s.sealed) != counterOf(e.Primary) {
			err = ErrOldKey
		}
		if err != nil {
			return nil, fmt.Errorf("enrollment %s: its %s key: %w", e.ID, s.rank, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// CheckSealingKey returns an error if the master key cannot open the keys of any enrollment. Without enrollments there
// is nothing to check.
func (n *Enrollments) CheckSealingKey(ctx context.Context) error {
	byID, err := n.recently(ctx)
	for _, f := range byID {
		if f.err != nil { // its row is invalid
			continue
		}
		if _, err = n.Keys(f.enrollment); !errors.Is(err, ErrSealingKey) {
			return nil
		}
	}
	return err
}

// seal seals both keys of an enrollment with a counter above that of the keys that it has. It
// generates nil keys. The counter is the time, so that it is also above that of keys which were
// replaced by older ones.
func (n *Enrollments) seal(e *schema.Enrollment, primary, secondary Key) error {
	for _, k := range []*Key{&primary, &secondary} {
		if *k == nil {
			*k = NewKey()
		}
	}
	return n.sealAt(e, max(time.Now().UnixNano(), counterOf(e.Primary)+1), primary, secondary)
}

// sealAt seals the keys of an enrollment with a counter. A nil key is absent.
func (n *Enrollments) sealAt(e *schema.Enrollment, counter int64, primary, secondary Key) error {
	for _, s := range []struct {
		key  Key
		rank Rank
		to   *[]byte
	}{{primary, Primary, &e.Primary}, {secondary, Secondary, &e.Secondary}} {
		if s.key == nil {
			continue
		}
		sealed, err := n.SealingKey.Seal(s.key, e.ID, s.rank, counter)
		if err != nil {
			return err
		}
		*s.to = sealed
	}
	return nil
}

// checkNewest returns ErrOldKey if an enrollment has older keys than Find has returned before.
// Whoever can write the table, but has no master key, could otherwise put back keys that leaked
// and were rotated. Keys that cannot be opened prove nothing, and Keys refuses them.
func (n *Enrollments) checkNewest(e schema.Enrollment) error {
	if _, err := n.Keys(e); err != nil {
		return nil
	}
	counter := counterOf(e.Primary)
	if counter < n.newest[e.ID] {
		return fmt.Errorf("enrollment %s: %w", e.ID, ErrOldKey)
	}
	if n.newest == nil {
		n.newest = map[schema.EnrollmentID]int64{}
	}
	n.newest[e.ID] = counter
	return nil
}

// open unseals a key once: doing so for every request would be expensive.
func (n *Enrollments) open(sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	name := string(place(of, in)) + string(sealed)
	if k, ok := n.opened.Load(name); ok {
		return k.(Key), nil
	}
	k, err := n.SealingKey.Open(sealed, of, in)
	if errors.Is(err, ErrSealingKey) && n.Reread != nil {
		k, err = n.Reread().Open(sealed, of, in)
	}
	if err == nil {
		n.opened.Store(name, k)
	}
	return k, err
}
