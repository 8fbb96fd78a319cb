package sas

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"furrow/tables"
	"furrow/tables/schema"
)

// Recent is the maximum age of the enrollments that Find uses.
const Recent = 10 * time.Second

const (
	stale      = 5 * time.Minute // their maximum age while storage cannot be read
	readPause  = time.Second     // after a failed read
	readWithin = 5 * time.Second
)

// A recent holds the enrollments as they were read last.
type recent struct {
	reads     singleflight.Group
	newcomers atomic.Int64 // callers of Renew

	mu    sync.Mutex
	byID  map[schema.EnrollmentID]found
	at    time.Time // start of the read of byID; zero: none has succeeded
	err   error     // of the last read
	tried time.Time // when err happened

	confirmed map[string]int64 // by readings table: the number of its policies that byID is later than
}

// A found is an enrollment, or why its row is invalid. One invalid row must not disable the
// other enrollments.
type found struct {
	enrollment schema.Enrollment
	err        error
}

// Find returns an enrollment as it was stored within Recent, or ErrNoEnrollment. All callers
// share one read of the whole table. For an unknown enrollment, see Renew. While storage cannot
// be read, the last result is used for up to five minutes.
func (n *Enrollments) Find(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error) {
	byID, err := n.recently(ctx)
	if err != nil {
		return schema.Enrollment{}, err
	}
	f, ok := byID[id]
	if !ok {
		return schema.Enrollment{}, ErrNoEnrollment
	}
	return f.enrollment, f.err
}

// recently returns all enrollments as Find uses them. The map must not be changed.
func (n *Enrollments) recently(ctx context.Context) (map[schema.EnrollmentID]found, error) {
	r := &n.recent
	if !r.fresh() {
		select {
		case <-r.reads.DoChan("", func() (any, error) { n.refresh(ctx); return nil, nil }):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && (r.at.IsZero() || time.Since(r.at) >= stale) {
		return nil, r.err
	}
	return r.byID, nil
}

// maxNewcomers is how many callers wait for Renew at the same time. Others are refused at once.
const maxNewcomers = 100

// Renew reads the enrollments again, for somebody whom those that are known refuse: an enrollment may be new, its key
// changed, or a disabled one enabled again. It reports whether they were read after the call. Callers share a read,
// and wait for it until a second has passed since the one before, so that a flood of unknown names costs storage one
// read a second. Nobody who is known waits for it.
func (n *Enrollments) Renew(ctx context.Context) bool {
	r := &n.recent
	if r.newcomers.Add(1) > maxNewcomers {
		r.newcomers.Add(-1)
		return false
	}
	defer r.newcomers.Add(-1)
	asked := time.Now()
	for range 2 { // the first read may have begun before the call
		select {
		case <-r.reads.DoChan("renew", func() (any, error) { n.renew(ctx); return nil, nil }):
		case <-ctx.Done():
			return false
		}
		r.mu.Lock()
		began := r.at
		r.mu.Unlock()
		if !began.Before(asked) {
			return true
		}
	}
	return false
}

// renew reads the enrollments a second after the last read.
func (n *Enrollments) renew(ctx context.Context) {
	n.recent.mu.Lock()
	due := n.recent.at.Add(readPause)
	if n.recent.err != nil {
		due = n.recent.tried.Add(readPause)
	}
	n.recent.mu.Unlock()
	time.Sleep(time.Until(due))
	n.read(ctx)
}

// current is like recently, but fails while storage cannot be read.
func (n *Enrollments) current(ctx context.Context) (map[schema.EnrollmentID]found, error) {
	byID, err := n.recently(ctx)
	n.recent.mu.Lock()
	defer n.recent.mu.Unlock()
	return byID, cmp.Or(err, n.recent.err)
}

// fresh reports whether no read is due: the last result is recent, or a read has just failed.
func (r *recent) fresh() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.at.IsZero() && time.Since(r.at) < Recent || r.err != nil && time.Since(r.tried) < readPause
}

// refresh reads the enrollments if that is due. The read continues when the caller gives up,
// because others wait for it.
func (n *Enrollments) refresh(ctx context.Context) {
	if !n.recent.fresh() {
		n.read(ctx)
	}
}

func (n *Enrollments) read(ctx context.Context) {
	r := &n.recent
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	byID, err := n.readAll(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; err != nil {
		r.tried = time.Now()
		return
	}
	n.keep(byID, began)
}

// keep keeps the result of a read unless a later one is kept. The caller holds recent.mu.
func (n *Enrollments) keep(byID map[schema.EnrollmentID]found, began time.Time) {
	if !began.After(n.recent.at) {
		return
	}
	for id, f := range byID {
		if f.err == nil {
			byID[id] = found{f.enrollment, n.checkNewest(f.enrollment)}
		}
	}
	n.recent.byID, n.recent.at = byID, began
}

// Confirm is like Find, and the enrollment was read after the caller saw that the policies of a
// readings table have this number. A revocation disables an enrollment before it raises the
// number, so no endpoint that knows the number takes the enrollment for enabled, even if it
// cannot read enrollments: Confirm fails then.
func (n *Enrollments) Confirm(
	ctx context.Context, id schema.EnrollmentID, readings string, number int64,
) (schema.Enrollment, error) {
	r := &n.recent
	r.mu.Lock()
	confirmed := r.confirmed[readings] >= number
	r.mu.Unlock()
	if confirmed {
		return n.Find(ctx, id)
	}
	// Whoever joins this read saw a number that was raised before the read began.
	read := r.reads.DoChan(fmt.Sprint(readings, "!", number), func() (any, error) {
		return nil, n.confirm(ctx, readings, number)
	})
	select {
	case result := <-read:
		if result.Err != nil {
			return schema.Enrollment{}, result.Err
		}
		return n.Find(ctx, id)
	case <-ctx.Done():
		return schema.Enrollment{}, ctx.Err()
	}
}

func (n *Enrollments) confirm(ctx context.Context, readings string, number int64) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readWithin)
	defer cancel()
	byID, err := n.readAll(ctx)
	if err != nil {
		return fmt.Errorf("reading enrollments after a revocation: %w", err)
	}
	r := &n.recent
	r.mu.Lock()
	defer r.mu.Unlock()
	n.keep(byID, began)
	if r.confirmed == nil {
		r.confirmed = map[string]int64{}
	}
	r.confirmed[readings] = max(r.confirmed[readings], number)
	return nil
}

func (n *Enrollments) readAll(ctx context.Context) (map[schema.EnrollmentID]found, error) {
	byID := map[schema.EnrollmentID]found{}
	for row, err := range n.Table.Entities(ctx, tables.Query{}) {
		if err != nil {
			return nil, err
		}
		e, err := schema.EnrollmentOf(row)
		byID[schema.EnrollmentID(row.PartitionKey)] = found{e, err}
	}
	return byID, nil
}
