package azuretest

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// token returns a service SAS of a table, signed by the SDK. It expires in an hour unless
// v says otherwise. The SDK signs the key range but leaves it out of the token, so token
// adds it.
func token(t *testing.T, a Account, v aztables.SASSignatureValues) string {
	t.Helper()
	if v.Identifier == "" && v.ExpiryTime.IsZero() {
		v.ExpiryTime = time.Now().UTC().Add(time.Hour)
	}
	cred := value(aztables.NewSharedKeyCredential(a.Name, a.Key))(t)
	s := value(v.Sign(cred))(t)
	for _, p := range [][2]string{{"spk", v.StartPartitionKey}, {"srk", v.StartRowKey}, {"epk", v.EndPartitionKey},
		{"erk", v.EndRowKey}} {
		if p[1] != "" {
			s += "&" + p[0] + "=" + url.QueryEscape(p[1])
		}
	}
	return s
}

// bearing returns a client that has only a token.
func bearing(t *testing.T, a Account, table, token string) *aztables.Client {
	t.Helper()
	o := &aztables.ClientOptions{ClientOptions: a.options()}
	return value(aztables.NewClientWithNoCredential(a.TableURL+"/"+table+"?"+token, o))(t)
}

// granted creates a table with a row p/r. It returns the owner's client and one that has
// the permissions in v.
func granted(t *testing.T, a Account, v aztables.SASSignatureValues) (owner, c *aztables.Client) {
	t.Helper()
	v.TableName = Name("t")
	owner = a.MakeTable(t, v.TableName)
	insert(t, owner, "p", "r", nil)
	return owner, bearing(t, a, v.TableName, token(t, a, v))
}

// try does one operation of each kind on a table, and returns the answers.
func try(t *testing.T, c *aztables.Client) map[string]string {
	t.Helper()
	ctx := t.Context()
	answers := map[string]string{}
	answers["get"] = outcome(c.GetEntity(ctx, "p", "r", nil))
	answers["query"] = outcome(query(t, c, filter("PartitionKey eq 'p'")))
	answers["add"] = outcome(c.AddEntity(ctx, row(t, "p", Name("new"), nil), nil))
	answers["upsert replace"] = outcome(c.UpsertEntity(ctx, row(t, "p", "r", nil),
		&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}))
	answers["upsert merge"] = outcome(c.UpsertEntity(ctx, row(t, "p", "r", nil),
		&aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge}))
	answers["update"] = outcome(c.UpdateEntity(ctx, row(t, "p", "r", nil),
		&aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace}))
	answers["merge"] = outcome(c.UpdateEntity(ctx, row(t, "p", "r", nil),
		&aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge}))
	answers["delete"] = outcome(c.DeleteEntity(ctx, "p", "r", nil))
	return answers
}

// Each permission allows its own operations only. An upsert needs the permissions of an
// add and of an update.
func (tables) PermissionsAreSeparate(t *testing.T, a Account) {
	for permissions, allowed := range map[string]string{
		"r":    "get query",
		"a":    "add",
		"u":    "update merge",
		"d":    "delete",
		"au":   "add update merge upsert replace upsert merge",
		"raud": "get query add update merge upsert replace upsert merge delete",
	} {
		_, c := granted(t, a, aztables.SASSignatureValues{Permissions: permissions})
		for op, got := range try(t, c) {
			want := "403 AuthorizationPermissionMismatch"
			if strings.HasPrefix(op, "upsert") && len(permissions) == 1 {
				expect(t, a, permissions+": "+op, got, want, upsertByUpdate(permissions)...)
				continue
			}
			if strings.Contains(allowed, op) {
				want = "ok"
			}
			expect(t, a, permissions+": "+op, got, want)
		}
	}
}

func upsertByUpdate(permissions string) []difference[string] {
	if permissions != "u" {
		return nil
	}
	return []difference[string]{differs(Azurite, "ok", "lets an upsert pass on u alone")}
}

// A token is for one table, named in lower case, whatever the case of the table.
func (tables) TokenIsForOneTable(t *testing.T, a Account) {
	name, other := Name("Mixed"), Name("other")
	a.MakeTable(t, name)
	a.MakeTable(t, other)
	s := token(t, a, aztables.SASSignatureValues{TableName: name, Permissions: "a"})
	expect(t, a, "its table", answer(addOne(t, bearing(t, a, name, s))), "ok")
	expect(t, a, "another table", status(addOne(t, bearing(t, a, other, s))), 403)
}

// No service SAS permits creating, listing or deleting tables, or reading or setting policies.
func (tables) TokenCannotManageTables(t *testing.T, a Account) {
	name := Name("t")
	owner := a.MakeTable(t, name)
	s := token(t, a, aztables.SASSignatureValues{TableName: name, Permissions: "raud"})
	c := bearing(t, a, name, s)
	service, err := aztables.NewServiceClientWithNoCredential(a.TableURL+"/?"+s,
		&aztables.ClientOptions{ClientOptions: a.options()})
	must(t, err)

	expect(t, a, "create", refusal(service.CreateTable(t.Context(), Name("t"), nil)), 403)
	expect(t, a, "list", refusal(service.NewListTablesPager(nil).NextPage(t.Context())), 403)
	expect(t, a, "get policies", refusal(c.GetAccessPolicy(t.Context(), nil)), 403)
	o := &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{policyOf("x", "r")}}
	expect(t, a, "set policies", refusal(c.SetAccessPolicy(t.Context(), o)), 403)
	const deletes = "lets a token with d delete the table"
	expect(t, a, "delete", refusal(c.Delete(t.Context(), nil)), 403, differs(Azurite, 0, deletes))
	expect(t, a, "the table exists", addOne(t, owner) == nil, true, differs(Azurite, false, deletes))
}

// A token is valid from its start to its expiry, up to the difference of the clocks.
func (tables) TokenHasAStartAndAnExpiry(t *testing.T, a Account) {
	now := time.Now().UTC()
	get := func(start, expiry time.Time) error {
		_, c := granted(t, a, aztables.SASSignatureValues{Permissions: "r", StartTime: start, ExpiryTime: expiry})
		return errOf(c.GetEntity(t.Context(), "p", "r", nil))
	}
	expect(t, a, "now", answer(get(now.Add(-time.Hour), now.Add(time.Hour))), "ok")
	expect(t, a, "without a start", answer(get(time.Time{}, now.Add(time.Hour))), "ok")
	unauthenticated(t, a, "not yet", get(now.Add(time.Hour), now.Add(2*time.Hour)))
	unauthenticated(t, a, "no longer", get(now.Add(-2*time.Hour), now.Add(-time.Hour)))
	unauthenticated(t, a, "no longer, without a start", get(time.Time{}, now.Add(-time.Hour)))
}

// No part of a token can be changed: not its permissions, its life or its range.
func (tables) ChangedTokenIsRefused(t *testing.T, a Account) {
	name := Name("t")
	a.MakeTable(t, name)
	s := token(t, a, aztables.SASSignatureValues{TableName: name, Permissions: "a", StartPartitionKey: "p",
		EndPartitionKey: "p"})
	q := value(url.ParseQuery(s))(t)
	for field, v := range map[string]string{"sp": "raud", "se": "2999-01-01T00:00:00Z", "spk": "a", "epk": "z",
		"sig": "AAAA" + q.Get("sig")[4:], "sv": "2020-02-10"} {
		changed := value(url.ParseQuery(s))(t)
		changed.Set(field, v)
		unauthenticated(t, a, "with another "+field, addOne(t, bearing(t, a, name, changed.Encode())))
	}
	unauthenticated(t, a, "without epk", addOne(t, bearing(t, a, name, strings.Replace(s, "&epk=p", "", 1))))
}

// A token for https only is refused on http.
func (tables) TokenMayDemandHTTPS(t *testing.T, a Account) {
	_, c := granted(t, a, aztables.SASSignatureValues{Permissions: "r", Protocol: aztables.SASProtocolHTTPS})
	_, err := c.GetEntity(t.Context(), "p", "r", nil)
	want := "403 AuthorizationProtocolMismatch"
	if strings.HasPrefix(a.TableURL, "https:") {
		want = "ok"
	}
	expect(t, a, "https only", answer(err), want)
	_, c = granted(t, a, aztables.SASSignatureValues{Permissions: "r", Protocol: aztables.SASProtocolHTTPSandHTTP})
	expect(t, a, "either", outcome(c.GetEntity(t.Context(), "p", "r", nil)), "ok")
}
