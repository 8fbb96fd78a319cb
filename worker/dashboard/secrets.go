package dashboard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"time"

	"furrow/sas/access"
)

// Secrets let people and programs in that look at all tenants, beside those who have access.
type Secrets struct {
	Password string // for people, with any user name; empty: none
	Token    string // for programs, as Authorization: Bearer; empty: none
}

// minSecret is the shortest secret, in bytes, that nobody guesses.
const minSecret = 12

// Check returns an error when a secret is too short to protect anything.
func (s Secrets) Check() error {
	for name, secret := range map[string]string{"password": s.Password, "token": s.Token} {
		if secret != "" && len(secret) < minSecret {
			return errors.New("the " + name +
				" is too short: use at least 12 characters, for example from openssl rand -base64 18")
		}
	}
	return nil
}

func (s Secrets) Any() bool { return s.Password != "" || s.Token != "" }

// mayBe reports whether somebody may guess one of the secrets with another. Where none of them looks like a token of
// access, who sends such a token does not.
func (s Secrets) mayBe(guess string) bool {
	return s.Any() && (!access.IsToken(guess) || access.IsToken(s.Password) || access.IsToken(s.Token))
}

// equal returns 1 when secret is not empty and equals given, in constant time.
func equal(given, secret string) int {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) & (1 - subtle.ConstantTimeEq(int32(len(secret)), 0))
}

// secretsInterval is the time between two looks at the secrets.
const secretsInterval = 2 * time.Second

// followSecrets takes the secrets that Reread returns, again and again, until ctx ends.
func (d *Dashboard) followSecrets(ctx context.Context) {
	if d.c.Reread == nil {
		return
	}
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(secretsInterval):
		}
		now, err := d.c.Reread()
		switch {
		case err != nil && err.Error() != said:
			d.log.ErrorContext(ctx, "secrets not read; the former ones stay in use", "error", err)
		case err == nil && now != *d.secrets.Load():
			d.secrets.Store(&now)
			d.log.InfoContext(ctx, "secrets changed; whoever signed in with a former one signs in again")
		}
		if said = ""; err != nil {
			said = err.Error()
		}
	}
}
