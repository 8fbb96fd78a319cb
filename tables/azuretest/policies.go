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

// policyOf is a stored access policy, in force for a century.
func policyOf(id, permission string) *aztables.SignedIdentifier {
	return &aztables.SignedIdentifier{ID: &id, AccessPolicy: &aztables.AccessPolicy{
		Permission: &permission,
		Start:      to.Ptr(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		Expiry:     to.Ptr(time.Date(2126, 1, 1, 12, 30, 1, 0, time.UTC)),
	}}
}

func setPolicies(t *testing.T, c *aztables.Client, all ...*aztables.SignedIdentifier) {
	t.Helper()
	must(t, errOf(c.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: all})))
}

// policyList is a table's policies as text, in the order of their ids.
func policyList(t *testing.T, c *aztables.Client) string {
	t.Helper()
	resp, err := c.GetAccessPolicy(t.Context(), nil)
	must(t, err)
	var all []string
	for _, p := range resp.SignedIdentifiers {
		s := *p.ID
		if p.AccessPolicy != nil {
			s = fmt.Sprintf("%s %s %s %s", s, value(p.AccessPolicy.Permission), when(p.AccessPolicy.Start),
				when(p.AccessPolicy.Expiry))
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func value(s *string) string {
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

// Five policies come back as they were set; a new table has none.
func (tables) PoliciesRoundTrip(t *testing.T, a Account) {
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

// Setting policies replaces all of them; there is no adding of one.
func (tables) SettingPoliciesReplacesAll(t *testing.T, a Account) {
	c := a.NewTable(t)
	setPolicies(t, c, policyOf("a", "r"), policyOf("b", "r"))
	setPolicies(t, c, policyOf("c", "a"))
	expect(t, a, "policies", policyList(t, c), "c a 2026-01-01T00:00:00Z 2126-01-01T12:30:01Z")
	setPolicies(t, c)
	expect(t, a, "after setting none", policyList(t, c), "")
}

// A sixth policy is refused, and the five stay. (The SDK puts an error of its
// own in place of the service's.)
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

// Every part of a policy may be left to the token: here start and expiry.
func (tables) PolicyNeedsNoStart(t *testing.T, a Account) {
	c := a.NewTable(t)
	_, err := c.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{
		{ID: to.Ptr("only"), AccessPolicy: &aztables.AccessPolicy{Permission: to.Ptr("a")}}}})
	expect(t, a, "set", status(err), 0, differs(Azurite, 400, "wants a start in every policy"))
	expect(t, a, "policies", policyList(t, c), "only a - -", differs(Azurite, "", "wants a start in every policy"))
}

// A policy's id is at most 64 characters.
func (tables) PolicyIDIsAtMost64Characters(t *testing.T, a Account) {
	c := a.NewTable(t)
	setPolicies(t, c, policyOf(strings.Repeat("i", 64), "r"))
	_, err := c.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{
		policyOf(strings.Repeat("i", 65), "r")}})
	expect(t, a, "65 characters", status(err), 400, differs(Azurite, 0, "takes ids of any length"))
}

// Policies of a missing table are 404.
func (tables) PoliciesOfMissingTable(t *testing.T, a Account) {
	c := a.Tables(t).NewClient(Name("t"))
	expect(t, a, "get", refusal(c.GetAccessPolicy(t.Context(), nil)), 404)
	_, err := c.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{
		policyOf("p", "r")}})
	expect(t, a, "set", status(err), 404)
}
