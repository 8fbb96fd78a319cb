package access

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"furrow/tables/schema"
)

// A Directory answers who has access from a copy of the table, so that a wrong token costs no storage operation. It is
// safe for concurrent use, and must not be copied after first use.
type Directory struct {
	Store Store

	reads singleflight.Group // of the table; those who know enough from the copy do not wait for one

	mu     sync.Mutex
	read   time.Time // when the copy was asked for; zero: never
	asked  time.Time // when the last read ended
	byHash map[string]schema.Access
	byName map[string]schema.Access
}

const (
	// Recent is the time within which an access that is removed ends, also that of an open stream, which is compared
	// with the copy every half of it.
	Recent = 10 * time.Second
	// maxAge is how old the copy may be.
	maxAge      = Recent / 2
	readTimeout = 10 * time.Second
	// patience is how old it may be while storage does not answer.
	patience = time.Minute
	// Pause is the time between two reads for names and tokens that the copy does not have: a token that was added so
	// long ago is known to every Directory.
	Pause = time.Second
)

// Find returns who has a token.
func (d *Directory) Find(ctx context.Context, token string) (a schema.Access, found bool, err error) {
	return d.look(ctx, func() (schema.Access, bool) { return d.hashed(token) })
}

// Known returns who has a token by the copy. It does not read the table for a token that the copy does not have.
func (d *Directory) Known(ctx context.Context, token string) (a schema.Access, found bool, err error) {
	return d.search(ctx, maxAge, func() (schema.Access, bool) { return d.hashed(token) })
}

// hashed returns who has a token. The lock is held.
func (d *Directory) hashed(token string) (a schema.Access, found bool) {
	a, found = d.byHash[schema.TokenHash(token)]
	return a, found
}

// Named returns who has access under a name.
func (d *Directory) Named(ctx context.Context, name string) (a schema.Access, found bool, err error) {
	return d.look(ctx, func() (schema.Access, bool) { a, ok := d.byName[name]; return a, ok })
}

// Still reports whether an access is neither removed nor has another token, and returns its current version.
func (d *Directory) Still(ctx context.Context, a schema.Access) (now schema.Access, holds bool, err error) {
	now, holds, err = d.search(ctx, maxAge, func() (schema.Access, bool) { now, is := d.byHash[a.Hash]; return now, is })
	if err != nil {
		return a, false, err
	}
	return now, holds && now.Name == a.Name, nil
}

// Any reports whether anybody has access.
func (d *Directory) Any(ctx context.Context) (any bool, err error) {
	_, any, err = d.search(ctx, maxAge, func() (schema.Access, bool) { return schema.Access{}, len(d.byHash) > 0 })
	return any, err
}

// look searches the copy. If it finds nothing, it reads the table again: the access may just have been added.
func (d *Directory) look(
	ctx context.Context, in func() (schema.Access, bool),
) (a schema.Access, found bool, err error) {
	if a, found, err = d.search(ctx, maxAge, in); found || err != nil {
		return a, found, err
	}
	return d.search(ctx, Pause, in)
}

// search searches a copy of at most some age.
func (d *Directory) search(
	ctx context.Context, age time.Duration, in func() (schema.Access, bool),
) (a schema.Access, found bool, err error) {
	if err := d.refresh(ctx, age); err != nil {
		return a, false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a, found = in()
	return a, found, nil
}

// refresh reads the table unless the copy is younger than age. Whoever comes while it is read takes the result: where
// storage does not answer, they would otherwise read one after the other.
func (d *Directory) refresh(ctx context.Context, age time.Duration) error {
	if d.fresh(age) {
		return nil
	}
	read := d.reads.DoChan("", func() (any, error) {
		if d.fresh(age) { // a read has just ended
			return nil, nil
		}
		return nil, d.readTable(context.WithoutCancel(ctx)) // others wait for it, too
	})
	select {
	case r := <-read:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readTable replaces the copy.
func (d *Directory) readTable(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	all, err := d.Store.All(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = time.Now()
	switch {
	case err == nil || all != nil:
		d.read, d.byHash, d.byName = began, map[string]schema.Access{}, map[string]schema.Access{}
		for _, a := range all {
			d.byHash[a.Hash], d.byName[a.Name] = a, a
		}
	case began.Sub(d.read) >= patience:
		return err
	}
	return nil
}

// fresh reports whether the copy is younger than age, or storage was asked a moment ago. The pause between two reads
// counts from the end of one: where reads are slow, each of those who wait would otherwise read again.
func (d *Directory) fresh(age time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	return now.Sub(d.read) < age || now.Sub(d.asked) < Pause && now.Sub(d.read) < patience
}
