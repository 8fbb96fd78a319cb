package sas_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestTokenOfAnEnrollmentAtExpiryHasNoPolicy(t *testing.T) {
	y := newFixture(t, nil)
	y.enrollment.AtExpiry = true
	a := y.mustIssue("pump-7")
	if strings.Contains(a.SAS, "si=") {
		t.Errorf("the token is %s", a.SAS)
	}
	must.Succeed(t, y.client.Table(y.enrollment.Readings).SetPolicies(t.Context(), nil))
	if got := insert(t, a, "pump-7", a.EarliestRowKey.String()); got != http.StatusNoContent {
		t.Errorf("without stored policies, a write is answered %d", got)
	}
	d := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	if ended := (&schema.Policies{}).Ended(d.Tokens[0]); ended || d.Tokens[0].Policy != "" {
		t.Errorf("the record has %+v, ended: %v", d.Tokens[0], ended)
	}
}

// A delegate gives keys, or fails.
type delegate struct {
	given []time.Time
	fails error
}

func (d *delegate) get(_ context.Context, start, expiry time.Time) (tables.DelegationKey, error) {
	if d.fails != nil {
		return tables.DelegationKey{}, d.fails
	}
	d.given = append(d.given, time.Now())
	return tables.DelegationKey{ObjectID: "o", TenantID: "t", Start: start, Expiry: expiry, Service: "t",
		Version: sas.DelegatedVersion, Value: []byte("key")}, nil
}

// TestDelegationKeyIsRenewedInTime has an hour's tokens signed for a day, in which no key can be had for half an hour.
func TestDelegationKeyIsRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &delegate{}
		issuer := must.Have(sas.NewIssuer(sas.IssuerConfig{Account: tables.Account{Name: "a",
			Table: "https://a.table.core.windows.net"}, Delegate: d.get}))(t)
		grant := func() error {
			token, err := issuer.SignFor(t.Context(), "pump-7", time.Now().Add(time.Hour))
			if err == nil && !strings.Contains(token, "skoid=o&") {
				t.Errorf("a token is %s", token)
			}
			return err
		}
		outage, end := time.Now().Add(10*time.Hour), time.Now().Add(24*time.Hour)
		for time.Now().Before(end) {
			d.fails = nil
			if in := time.Since(outage); in >= 0 && in < 30*time.Minute {
				d.fails = errors.New("no key")
			}
			must.Succeed(t, grant())
			time.Sleep(time.Minute)
		}
		if n := len(d.given); n < 45 || n > 49 {
			t.Errorf("%d keys in a day", n)
		}
		d.fails = errors.New("no key")
		time.Sleep(61 * time.Minute)
		if err := grant(); !errors.Is(err, d.fails) {
			t.Errorf("with a key that ends before the token: %v", err)
		}
	})
}

func TestTokenEndsWithItsDelegationKey(t *testing.T) {
	key := must.Have((&delegate{}).get(t.Context(), noon, noon.Add(time.Hour)))(t)
	for want, g := range map[string]sas.Grant{
		"":                    {Table: "t1", Permissions: "a", Expiry: noon.Add(time.Hour)},
		"after its user":      {Table: "t1", Permissions: "a", Expiry: noon.Add(time.Hour + time.Second)},
		"have a stored polic": {Table: "t1", Permissions: "a", Expiry: noon, Policy: "p"},
		"needs permissions":   {Table: "t1", Expiry: noon},
	} {
		token, err := g.SignDelegated(account, key)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: token %q, error %v; want an error with %q", g, token, err, want)
		}
	}
}

// TestTheTokenThatExpiresLastIsKnown, however many a device gets after it: furrow token may have given it one for
// longer than its enrollment does. No revocation ends it, and nobody would know how long the device can write.
func TestTheTokenThatExpiresLastIsKnown(t *testing.T) {
	y := newFixture(t, nil)
	y.enrollment.AtExpiry = true
	longest := y.mustIssue("pump-7").Expires
	y.enrollment.Life = time.Minute
	var newest sas.Answer
	for range 12 {
		newest = y.mustIssue("pump-7")
	}
	tokens := must.Have(y.registry.Get(t.Context(), "pump-7"))(t).Tokens
	last := slices.MaxFunc(tokens, func(a, b schema.Token) int { return cmp.Compare(a.Expiry, b.Expiry) })
	if !last.Expiry.Time().Equal(longest) || len(tokens) != 5 {
		t.Errorf("of %d tokens that are known the last expires at %v, and one expires at %v", len(tokens),
			last.Expiry.Time(), longest)
	}
	if tokens[4].Fingerprint != sas.Fingerprint(newest.SAS) {
		t.Error("the newest is not the last")
	}
}
