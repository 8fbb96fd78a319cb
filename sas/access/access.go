// Package access says who may look at a fleet and act on it, and keeps a log of who did what. A token is
// random and shown once; storage has only its hash.
package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrNone means that nobody has access under a name.
var ErrNone = errors.New("nobody has access under this name")

// A Store keeps who has access.
type Store struct{ Table *tables.Table }

// NewStore returns the store of the fleet with these names.
func NewStore(c *tables.Client, names schema.Names) Store { return Store{c.Table(names.Access())} }

// tokenPrefix lets scanners for leaked secrets recognize a token.
const tokenPrefix = "furrow_"

func newToken() string { return tokenPrefix + rand.Text() }

// IsToken reports whether a secret looks like a token of access, which nobody guesses.
func IsToken(secret string) bool { return strings.HasPrefix(secret, tokenPrefix) }

// Add gives a access under a name that nobody has, and returns the token.
func (s Store) Add(ctx context.Context, a schema.Access) (token string, err error) {
	token = newToken()
	a.Hash, a.Created = schema.TokenHash(token), tables.TicksOf(time.Now())
	e, err := a.Entity()
	if err != nil {
		return "", err
	}
	if err := s.Table.Create(ctx); err != nil {
		return "", err
	}
	_, err = s.Table.Do(ctx, tables.Insert(e))
	if errors.Is(err, tables.ErrExists) {
		// Our own insert, if its answer was lost: the hash is unique.
		stored, errGet := s.Get(ctx, a.Name)
		if errGet == nil && stored.Hash == a.Hash {
			return token, nil
		}
		err = fmt.Errorf("%s has access already: %w", tables.Quote(a.Name), err)
	}
	if err != nil {
		return "", err
	}
	return token, nil
}

// Get returns who has access under a name, or ErrNone.
func (s Store) Get(ctx context.Context, name string) (schema.Access, error) {
	pk, rk := schema.AccessKeys(name)
	e, err := s.Table.Get(ctx, pk, rk)
	if tables.Absent(err) {
		err = fmt.Errorf("%s: %w", tables.Quote(name), ErrNone)
	}
	if err != nil {
		return schema.Access{}, err
	}
	return schema.AccessOf(e)
}

// All returns everybody who has access, in the order of their keys. Rows that cannot be read make an error, beside
// the others.
func (s Store) All(ctx context.Context) (all []schema.Access, err error) {
	var unreadable error
	for row, err := range s.Table.Entities(ctx, tables.Query{Range: schema.AllAccess()}) {
		if err != nil {
			return nil, err
		}
		a, err := schema.AccessOf(row)
		if err != nil {
			unreadable = err
			continue
		}
		all = append(all, a)
	}
	return all, unreadable
}

// Remove ends the access under a name, and returns what it was.
func (s Store) Remove(ctx context.Context, name string) (schema.Access, error) {
	a, err := s.Get(ctx, name)
	if err != nil {
		return a, err
	}
	pk, rk := schema.AccessKeys(name)
	_, err = s.Table.Do(ctx, tables.Delete(pk, rk, tables.AnyETag))
	if errors.Is(err, tables.ErrNotFound) { // removed meanwhile, or by our own request whose answer was lost
		err = nil
	}
	return a, err
}

// Rotate replaces the token under a name, and returns the new one. The old one ends.
func (s Store) Rotate(ctx context.Context, name string) (token string, a schema.Access, err error) {
	if a, err = s.Get(ctx, name); err != nil {
		return "", a, err
	}
	token = newToken()
	a.Hash = schema.TokenHash(token)
	e, err := a.Entity()
	if err != nil {
		return "", a, err
	}
	if _, err = s.Table.Do(ctx, tables.Replace(e, a.ETag)); err != nil {
		stored, errGet := s.Get(ctx, name)
		if errGet != nil || stored.Hash != a.Hash {
			return "", a, err
		}
	}
	return token, a, nil
}
