package azuretest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// policyOf returns a stored access policy that is in force for a century.
func policyOf(id, permission string) *aztables.SignedIdentifier {
	return &aztables.SignedIdentifier{ID: &id, AccessPolicy: &aztables.AccessPolicy{
		Permission: &permission,
		Start:      to.Ptr(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		Expiry:     to.Ptr(time.Date(2126, 1, 1, 12, 30, 1, 0, time.UTC)),
	}}
}

func setPolicies(t *testing.T, c *aztables.Client, all ...*aztables.SignedIdentifier) {
	t.Helper()
	must(t, trySetPolicies(t, c, all...))
}

func trySetPolicies(t *testing.T, c *aztables.Client, all ...*aztables.SignedIdentifier) error {
	return errOf(c.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: all}))
}

// policyList returns a table's policies as text, in the order of their IDs.
func policyList(t *testing.T, c *aztables.Client) string {
	t.Helper()
	resp := value(c.GetAccessPolicy(t.Context(), nil))(t)
	var all []string
	for _, p := range resp.SignedIdentifiers {
		s := *p.ID
		if p.AccessPolicy != nil {
			q := p.AccessPolicy
			s = fmt.Sprintf("%s %s %s %s", s, text(q.Permission), when(q.Start), when(q.Expiry))
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func when(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// A new table has no policies. Five policies are read as they were set.
func (tables) PoliciesAreReadAsSet(t *testing.T, a Account) {
	c := a.NewTable(t)
	expect(t, a, "of a new table", policyList(t, c), "")
	var all []*aztables.SignedIdentifier
	var want []string
	for i, permission := range []string{"r", "a", "u", "d", "raud"} {
		id := fmt.Sprintf("cohort-%d & <%d>", i, i)
		all = append(all, policyOf(id, permission))
		want = append(want, id+" "+permission+" 2026-01-01T00:00:00Z 2126-01-01T12:30:01Z")
	}
	setPolicies(t, c, all...)
	expect(t, a, "policies", policyList(t, c), strings.Join(want, "; "))
}

// Setting policies replaces all of them.
func (tables) SettingPoliciesReplacesAll(t *testing.T, a Account) {
	c := a.NewTable(t)
	setPolicies(t, c, policyOf("a", "r"), policyOf("b", "r"))
	setPolicies(t, c, policyOf("c", "a"))
	expect(t, a, "policies", policyList(t, c), "c a 2026-01-01T00:00:00Z 2126-01-01T12:30:01Z")
	setPolicies(t, c)
	expect(t, a, "after setting none", policyList(t, c), "")
}

// A sixth policy is refused, and the five stay. (The SDK returns an error of its own
// instead of the service's.)
func (tables) SixthPolicyIsRefused(t *testing.T, a Account) {
	c := a.NewTable(t)
	var all []*aztables.SignedIdentifier
	for i := range 6 {
		all = append(all, policyOf(fmt.Sprint(i), "r"))
	}
	setPolicies(t, c, all[:5]...)
	before := policyList(t, c)

	var r *http.Response
	_, err := c.SetAccessPolicy(captured(t, &r), &aztables.SetAccessPolicyOptions{TableACL: all})
	expect(t, a, "refused", err != nil, true)
	expect(t, a, "the service's error", answer(runtime.NewResponseError(r)), "400 InvalidXmlDocument")
	expect(t, a, "policies", policyList(t, c), before)
}

// The token can have every part of a policy: here start and expiry.
func (tables) PolicyNeedsNoStart(t *testing.T, a Account) {
	c := a.NewTable(t)
	only := &aztables.SignedIdentifier{ID: to.Ptr("only"), AccessPolicy: &aztables.AccessPolicy{Permission: to.Ptr("a")}}
	expect(t, a, "set", status(trySetPolicies(t, c, only)), 0, differs(Azurite, 400, "wants a start in every policy"))
	expect(t, a, "policies", policyList(t, c), "only a - -", differs(Azurite, "", "wants a start in every policy"))
}

// A policy's ID has at most 64 characters.
func (tables) PolicyIDIsAtMost64Characters(t *testing.T, a Account) {
	c := a.NewTable(t)
	setPolicies(t, c, policyOf(strings.Repeat("i", 64), "r"))
	expect(t, a, "65 characters", status(trySetPolicies(t, c, policyOf(strings.Repeat("i", 65), "r"))), 400,
		differs(Azurite, 0, "takes ids of any length"))
}

// Policies of a missing table are 404.
func (tables) PoliciesOfMissingTable(t *testing.T, a Account) {
	c := a.Tables(t).NewClient(Name("t"))
	expect(t, a, "get", refusal(c.GetAccessPolicy(t.Context(), nil)), 404)
	expect(t, a, "set", status(trySetPolicies(t, c, policyOf("p", "r"))), 404)
}
