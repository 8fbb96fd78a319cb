package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// A keyFile follows the file of --storage file:NAME, so that the account's key is replaced without a restart. An
// account has two keys, and storage takes both: put a connection string with the other one into the file, and
// regenerate the first one when the tokens that it signed have ended.
type keyFile struct {
	name string // empty: there is none
	is   tables.Account
	by   []keyUser // complete before follow is called
}

// A keyUser uses the account's key.
type keyUser interface{ SetKey(key string) error }

// used adds one that uses the key from the beginning.
func (k *keyFile) used(by keyUser) { k.by = append(k.by, by) }

// keyInterval is the time between two looks at the file.
const keyInterval = 2 * time.Second

// follow takes the key that the file has, again and again, until ctx ends, and returns nil. It calls changed, if that
// is not nil, after it took another one.
func (k *keyFile) follow(ctx context.Context, log *slog.Logger, changed func(context.Context)) error {
	if k.name == "" || k.is.Key == "" {
		return nil
	}
	said := ""
	for setup.Pause(ctx, keyInterval) {
		other, err := k.look()
		switch {
		case err != nil && err.Error() != said:
			said = err.Error()
			log.ErrorContext(ctx, "account key not read; the former one stays in use", "file", k.name, "error", err)
		case other:
			log.InfoContext(ctx, "account key changed", "file", k.name)
			if changed != nil {
				changed(ctx)
			}
		}
		if err == nil {
			said = ""
		}
	}
	return nil
}

// look takes the key that the file has now, and reports whether it is another one.
func (k *keyFile) look() (other bool, err error) {
	found, err := setup.Find("file:" + k.name)
	if err != nil {
		return false, err
	}
	same := found.Account
	if same.Key = k.is.Key; same != k.is {
		return false, errors.New("it names another account, or other services: restart to use them")
	}
	if found.Account.Key == k.is.Key {
		return false, nil
	}
	for _, by := range k.by {
		if err := by.SetKey(found.Account.Key); err != nil {
			return false, err
		}
	}
	k.is = found.Account
	return true, nil
}

// followingKey runs a role while it follows the account's key.
func (s *stores) followingKey(ctx context.Context, log *slog.Logger, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return roles.Together(ctx,
		func(ctx context.Context) error { return s.keys.follow(ctx, log, nil) },
		func(ctx context.Context) error { defer cancel(); return run(ctx) })
}
