package sas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"furrow/tables"
)

// Recent is how old the enrollments may be that Find goes by.
const Recent = 10 * time.Second

const (
	stale      = 5 * time.Minute // how old they may be while storage cannot be read
	readPause  = time.Second     // after a read that failed
	readWithin = 5 * time.Second
)

// A recent is what was last read of the enrollments.
type recent struct {
	mu    sync.Mutex // held while one reads and all others wait for it
	byID  map[tables.EnrollmentID]found
	at    time.Time // when the read of byID began; zero where none has succeeded
	tried time.Time // when the last read failed, after at
	err   error     // why
}

// A found is an enrollment, or what is wrong with its row: the others are not
// kept from working by it.
type found struct {
	enrollment tables.Enrollment
	err        error
}

// Find is an enrollment as it was stored within Recent, or ErrNoEnrollment. All
// callers share one read of the whole table, so that asking for enrollments that
// do not exist costs storage nothing. While storage cannot be read, what was
// read before serves for a few minutes.
func (n *Enrollments) Find(ctx context.Context, id tables.EnrollmentID) (tables.Enrollment, error) {
	byID, err := n.read(ctx)
	if err != nil {
		return tables.Enrollment{}, err
	}
	f, ok := byID[id]
	if !ok {
		return tables.Enrollment{}, ErrNoEnrollment
	}
	return f.enrollment, f.err
}

// read reads the table where what is known of it is too old. The read is not the
// caller's alone: it goes on when the caller gives up.
func (n *Enrollments) read(ctx context.Context) (map[tables.EnrollmentID]found, error) {
	r := &n.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.at.IsZero() || now.Sub(r.at) >= Recent {
		if now.Sub(r.tried) >= readPause {
			n.renew(context.WithoutCancel(ctx), now)
		}
	}
	if r.err != nil && (r.at.IsZero() || now.Sub(r.at) >= stale) {
		return nil, r.err
	}
	return r.byID, nil
}

// renew replaces what is known; on an error it keeps it.
func (n *Enrollments) renew(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	byID := map[tables.EnrollmentID]found{}
	for page, err := range n.Table.Rows(ctx, tables.Query{}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			n.recent.tried, n.recent.err = time.Now(), err
			return
		}
		for _, row := range page.Rows {
			e, err := tables.EnrollmentOf(row)
			byID[tables.EnrollmentID(row.PartitionKey)] = found{e, err}
		}
	}
	n.recent.byID, n.recent.at, n.recent.err, n.recent.tried = byID, now, nil, time.Time{}
}

// An opened keeps keys that were unsealed, as a device's request must not cost
// more than it has to. There are as many as there are enrollments.
type opened struct {
	mu   sync.Mutex
	byID map[tables.EnrollmentID]pair
}

// A pair is the keys that two sealed ones have in them.
type pair struct {
	primary, secondary string // sealed
	keys               []Key
}

// Keys are the keys of an enrollment: the primary, and where there is one the
// secondary.
func (n *Enrollments) Keys(e tables.Enrollment) ([]Key, error) {
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
		k, err := n.Master.Open(s.sealed, e.ID, s.rank)
		if err != nil {
			return nil, fmt.Errorf("enrollment %s: its %s key: %w", e.ID, s.rank, err)
		}
		p.keys = append(p.keys, k)
	}
	n.opened.mu.Lock()
	defer n.opened.mu.Unlock()
	if n.opened.byID == nil {
		n.opened.byID = map[tables.EnrollmentID]pair{}
	}
	n.opened.byID[e.ID] = p
	return p.keys, nil
}
