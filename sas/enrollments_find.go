package sas

import (
	"context"
	"errors"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
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
	mu      sync.Mutex
	reading chan struct{} // closed when the read that is under way ends; nil where none is
	byID    map[schema.EnrollmentID]found
	at      time.Time // when the read of byID began; zero where none has succeeded
	err     error     // of the last read; nil where it succeeded
	tried   time.Time // when that was
}

// settled tells whether there is nothing to read now: what is known is recent, or
// it was just tried in vain.
func (r *recent) settled(now time.Time) bool {
	return !r.at.IsZero() && now.Sub(r.at) < Recent || r.err != nil && now.Sub(r.tried) < readPause
}

// known is what is known, if it still serves.
func (r *recent) known(now time.Time) (map[schema.EnrollmentID]found, error) {
	if r.err != nil && (r.at.IsZero() || now.Sub(r.at) >= stale) {
		return nil, r.err
	}
	return r.byID, nil
}

// A found is an enrollment, or what is wrong with its row: the others are not
// kept from working by it.
type found struct {
	enrollment schema.Enrollment
	err        error
}

// Find is an enrollment as it was stored within Recent, or ErrNoEnrollment. All
// callers share one read of the whole table, so that asking for enrollments that
// do not exist costs storage nothing. While storage cannot be read, what was
// read before serves for a few minutes.
func (n *Enrollments) Find(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	byID, err := n.read(ctx)
	if err != nil {
		return schema.Enrollment{}, err
	}
	f, ok := byID[id]
	if !ok {
		return schema.Enrollment{}, ErrNoEnrollment
	}
	return f.enrollment, f.err
}

// read is what is known, after a read where that is too old. One caller reads, and
// the others wait for it.
func (n *Enrollments) read(ctx context.Context) (map[schema.EnrollmentID]found, error) {
	r := &n.recent
	for {
		r.mu.Lock()
		now := time.Now()
		if r.settled(now) {
			defer r.mu.Unlock()
			return r.known(now)
		}
		under := r.reading
		if under == nil {
			r.reading = make(chan struct{})
		}
		r.mu.Unlock()
		if under == nil {
			n.renew(ctx)
			continue
		}
		select {
		case <-under:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// renew reads, and replaces what is known where it can. The read is not the
// caller's alone: it goes on when that one gives up.
func (n *Enrollments) renew(ctx context.Context) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	byID, err := n.readAll(ctx)
	r := &n.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; err == nil {
		r.byID, r.at = byID, began
	} else {
		r.tried = time.Now()
	}
	close(r.reading)
	r.reading = nil
}

func (n *Enrollments) readAll(ctx context.Context) (map[schema.EnrollmentID]found, error) {
	byID := map[schema.EnrollmentID]found{}
	for page, err := range n.Table.Rows(ctx, tables.Query{}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, row := range page.Rows {
			e, err := schema.EnrollmentOf(row)
			byID[schema.EnrollmentID(row.PartitionKey)] = found{e, err}
		}
	}
	return byID, nil
}
