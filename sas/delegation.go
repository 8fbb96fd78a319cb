package sas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrNoKey means that an account whose key is not known was to sign tokens that a revocation can end.
var ErrNoKey = errors.New("its tokens refer to stored access policies, which need the account's key: give a " +
	"connection string with an AccountKey, or add an enrollment with --revocation at-expiry")

const (
	// keyLife is how long a user delegation key is valid. Azure allows a week. If all keys of the account are revoked
	// there, devices get tokens that work when the next one is used: after keyLife less the life of a token at most.
	keyLife = 2 * schema.MaxLifeAtExpiry
	// keyRenewal is how old a key is when the next one is asked for.
	keyRenewal = schema.MaxLifeAtExpiry / 2
	// keyPause is the time between attempts while the key in use is still good.
	keyPause = time.Minute
)

// A delegation keeps the user delegation key that signs tokens.
type delegation struct {
	get func(ctx context.Context, start, expiry time.Time) (tables.DelegationKey, error)

	mu    sync.Mutex
	key   tables.DelegationKey
	renew time.Time
}

// sign signs a grant with a key that outlives it.
func (k *delegation) sign(ctx context.Context, account string, g Grant) (string, error) {
	key, err := k.until(ctx, g.Expiry)
	if err != nil {
		return "", err
	}
	return g.SignDelegated(account, key)
}

// until returns a key that is valid until expiry or longer.
func (k *delegation) until(ctx context.Context, expiry time.Time) (tables.DelegationKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if now.Before(k.renew) && !k.key.Expiry.Before(expiry) {
		return k.key, nil
	}
	key, err := k.get(ctx, now.Add(-ClockSkew), now.Add(keyLife))
	switch {
	case err == nil:
		k.key, k.renew = key, now.Add(keyRenewal)
	case k.key.Expiry.Before(expiry):
		return k.key, fmt.Errorf("the key that signs tokens: %w", err)
	default:
		k.renew = now.Add(keyPause)
	}
	return k.key, nil
}
