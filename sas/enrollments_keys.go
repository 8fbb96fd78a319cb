package sas

import (
	"fmt"
	"sync"

	"furrow/tables/schema"
)

// An opened caches unsealed keys, one pair per enrollment: unsealing for every request would
// be expensive.
type opened struct {
	mu   sync.Mutex
	byID map[schema.EnrollmentID]pair
}

// A pair is two sealed keys and their unsealed forms.
type pair struct {
	primary, secondary string // sealed
	keys               []Key
}

// Keys returns the primary key of an enrollment and, if it has one, the secondary key.
func (n *Enrollments) Keys(e schema.Enrollment) ([]Key, error) {
	n.opened.mu.Lock()
	p, ok := n.opened.byID[e.ID]
	n.opened.mu.Unlock()
	if ok && p.primary == string(e.Primary) && p.secondary == string(e.Secondary) {
		return p.keys, nil
	}
	p = pair{primary: string(e.Primary), secondary: string(e.Secondary)}
	for _, s := range []struct {
		rank   Rank
		sealed []byte
	}{{Primary, e.Primary}, {Secondary, e.Secondary}} {
		if len(s.sealed) == 0 && s.rank == Secondary {
			continue
		}
		k, err := n.SealingKey.Open(s.sealed, e.ID, s.rank)
		if err != nil {
			return nil, fmt.Errorf("enrollment %s: its %s key: %w", e.ID, s.rank, err)
		}
		p.keys = append(p.keys, k)
	}
	n.opened.mu.Lock()
	defer n.opened.mu.Unlock()
	if n.opened.byID == nil {
		n.opened.byID = map[schema.EnrollmentID]pair{}
	}
	n.opened.byID[e.ID] = p
	return p.keys, nil
}
