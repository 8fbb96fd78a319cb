package azuretest

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// policied creates a table with the policy "cohort". c has a token that names it.
func policied(t *testing.T, a Account, p *aztables.AccessPolicy,
	v aztables.SASSignatureValues) (owner, c *aztables.Client) {
	t.Helper()
	v.TableName, v.Identifier = Name("t"), "cohort"
	owner = a.MakeTable(t, v.TableName)
	setPolicies(t, owner, &aztables.SignedIdentifier{ID: to.Ptr("cohort"), AccessPolicy: p})
	c = bearing(t, a, v.TableName, token(t, a, v))
	if a.Kind == Azure {
		eventually(t, "policy in force", func() bool { return status(addOne(t, c)) != 403 })
	}
	return owner, c
}

func inForce() *aztables.AccessPolicy { return policyOf("", "a").AccessPolicy }

func addOne(t *testing.T, c *aztables.Client) error {
	return errOf(c.AddEntity(t.Context(), row(t, "p", Name("r"), nil), nil))
}

// eventually waits for a change of policies, which takes up to 30 s on Azure.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 60 {
		if is() {
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("%s: not within a minute", what)
}

// endsAccess expects that c is refused when a change of policies is in force: at once,
// but on Azure within 30 s.
func endsAccess(t *testing.T, a Account, what string, c *aztables.Client) {
	t.Helper()
	if a.Kind == Azure {
		eventually(t, what, func() bool { return addOne(t, c) != nil })
	}
	unauthenticated(t, a, what, addOne(t, c))
}

// A token with only a policy's ID permits what the policy permits.
func (tables) PolicyGrantsItsPermissions(t *testing.T, a Account) {
	_, c := policied(t, a, inForce(), aztables.SASSignatureValues{})
	expect(t, a, "add", answer(addOne(t, c)), "ok")
	expect(t, a, "delete", outcome(c.DeleteEntity(t.Context(), "p", "r", nil)), "403 AuthorizationPermissionMismatch")
}

// The policy can have the permission, and the token the expiry and the key range, as with
// Furrow's tokens. A policy cannot have a range.
func (tables) PolicyAndTokenShareTheTerms(t *testing.T, a Account) {
	if a.Kind == Azurite {
		t.Skip("Azurite requires a start in every policy; PolicyNeedsNoStart asserts it")
	}
	_, c := policied(t, a, &aztables.AccessPolicy{Permission: to.Ptr("a")}, aztables.SASSignatureValues{
		ExpiryTime: inAnHour(), StartPartitionKey: "p", EndPartitionKey: "p"})
	expect(t, a, "add", answer(addOne(t, c)), "ok")
	expect(t, a, "add elsewhere", refusal(c.AddEntity(t.Context(), row(t, "q", "r", nil), nil)), 403)
}

// The tokens of a removed policy are refused.
func (tables) RemovedPolicyEndsItsTokens(t *testing.T, a Account) {
	owner, c := policied(t, a, inForce(), aztables.SASSignatureValues{})
	expect(t, a, "before", answer(addOne(t, c)), "ok")
	setPolicies(t, owner)
	endsAccess(t, a, "after the removal", c)
}

// So are those of a renamed policy. The tokens of other policies stay valid.
func (tables) RenamedPolicyEndsItsTokens(t *testing.T, a Account) {
	v := aztables.SASSignatureValues{TableName: Name("t"), Identifier: "stays"}
	owner := a.MakeTable(t, v.TableName)
	setPolicies(t, owner, policyOf("goes", "a"), policyOf("stays", "a"))
	stays := bearing(t, a, v.TableName, token(t, a, v))
	v.Identifier = "goes"
	goes := bearing(t, a, v.TableName, token(t, a, v))
	if a.Kind == Azure {
		eventually(t, "policies in force", func() bool { return addOne(t, stays) == nil && addOne(t, goes) == nil })
	}
	setPolicies(t, owner, policyOf("came", "a"), policyOf("stays", "a"))
	endsAccess(t, a, "the renamed policy's", goes)
	expect(t, a, "the other's", answer(addOne(t, stays)), "ok")
}

// So are those of a policy with an expiry in the past.
func (tables) ExpiredPolicyEndsItsTokens(t *testing.T, a Account) {
	owner, c := policied(t, a, inForce(), aztables.SASSignatureValues{})
	p := inForce()
	p.Expiry = to.Ptr(time.Now().UTC().Add(-time.Hour))
	setPolicies(t, owner, &aztables.SignedIdentifier{ID: to.Ptr("cohort"), AccessPolicy: p})
	endsAccess(t, a, "after its expiry", c)
}

// A policy that is created again with its old ID makes its old tokens valid: an ID must
// never be used twice.
func (tables) PolicyWithAnOldIDRevivesItsTokens(t *testing.T, a Account) {
	owner, c := policied(t, a, inForce(), aztables.SASSignatureValues{})
	setPolicies(t, owner)
	endsAccess(t, a, "removed", c)
	setPolicies(t, owner, policyOf("cohort", "a"))
	if a.Kind == Azure {
		eventually(t, "policy in force", func() bool { return addOne(t, c) == nil })
	}
	expect(t, a, "made again", answer(addOne(t, c)), "ok")
}

// A token must not repeat a term of its policy, even with the same value.
func (tables) PolicyAndTokenDoNotOverlap(t *testing.T, a Account) {
	_, c := policied(t, a, inForce(), aztables.SASSignatureValues{Permissions: "a", ExpiryTime: inAnHour()})
	expect(t, a, "add", addOne(t, c) == nil, false, differs(Azurite, true, "lets the policy override the token"))
}
