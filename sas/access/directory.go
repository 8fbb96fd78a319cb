package access

import (
	"context"
	"sync"
	"time"

	"furrow/tables/schema"
)

// A Directory answers who has access from a copy of the table, so that a wrong token costs no storage operation. It is
// safe for concurrent use, and must not be copied after first use.
type Directory struct {
	Store Store

	mu     sync.Mutex
	read   time.Time // when the copy was asked for; zero: never
	asked  time.Time // when storage was last asked
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
	// pause is the time between two reads for names and tokens that the copy does not have.
	pause = time.Second
)

// Find returns who has a token.
func (d *Directory) Find(ctx context.Context, token string) (a schema.Access, found bool, err error) {
	hash := schema.TokenHash(token)
	return d.look(ctx, func() (schema.Access, bool) { a, ok := d.byHash[hash]; return a, ok })
}

// Named returns who has access under a name.
func (d *Directory) Named(ctx context.Context, name string) (a schema.Access, found bool, err error) {
	return d.look(ctx, func() (schema.Access, bool) { a, ok := d.byName[name]; return a, ok })
}

// Still reports whether an access is neither removed nor has another token, and returns its current version.
func (d *Directory) Still(ctx context.Context, a schema.Access) (now schema.Access, holds bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx, maxAge); err != nil {
		return a, false, err
	}
	now, holds = d.byHash[a.Hash]
	return now, holds && now.Name == a.Name, nil
}

// Any reports whether anybody has access.
func (d *Directory) Any(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.refresh(ctx, maxAge)
	return len(d.byHash) > 0, err
}

// look searches the copy. If it finds nothing, it reads the table again: the access may just have been added.
func (d *Directory) look(
	ctx context.Context, in func() (schema.Access, bool),
) (a schema.Access, found bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refresh(ctx, maxAge); err != nil {
		return a, false, err
	}
	if a, found = in(); found {
		return a, true, nil
	}
	if err := d.refresh(ctx, pause); err != nil {
		return a, false, err
	}
	a, found = in()
	return a, found, nil
}

// refresh reads the table unless the copy is younger than age. The lock is held: requests wait for one read.
func (d *Directory) refresh(ctx context.Context, age time.Duration) error {
	now := time.Now()
	if now.Sub(d.read) < age || now.Sub(d.asked) < pause && now.Sub(d.read) < patience {
		return nil
	}
	d.asked = now
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	all, err := d.Store.All(reading)
	if err != nil && all == nil {
		if now.Sub(d.read) < patience {
			return nil
		}
		return err
	}
	d.read, d.byHash, d.byName = now, map[string]schema.Access{}, map[string]schema.Access{}
	for _, a := range all {
		d.byHash[a.Hash], d.byName[a.Name] = a, a
	}
	return nil
}
