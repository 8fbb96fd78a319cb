package sas

import (
	"fmt"

	"furrow/tables/schema"
)

// Keys returns the primary key of an enrollment and, if it has one, the secondary key.
func (n *Enrollments) Keys(e schema.Enrollment) (keys []Key, err error) {
	for _, s := range []struct {
		rank   Rank
		sealed []byte
	}{{Primary, e.Primary}, {Secondary, e.Secondary}} {
		if len(s.sealed) == 0 && s.rank == Secondary {
			continue
		}
		k, err := n.open(s.sealed, e.ID, s.rank)
		if err != nil {
			return nil, fmt.Errorf("enrollment %s: its %s key: %w", e.ID, s.rank, err)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// open unseals a key once: doing so for every request would be expensive.
func (n *Enrollments) open(sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	name := string(place(of, in)) + string(sealed)
	if k, ok := n.opened.Load(name); ok {
		return k.(Key), nil
	}
	k, err := n.SealingKey.Open(sealed, of, in)
	if err == nil {
		n.opened.Store(name, k)
	}
	return k, err
}
