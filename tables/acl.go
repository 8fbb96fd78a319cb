package tables

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// MaxStoredPolicies is the maximum number of stored access policies of a table.
const MaxStoredPolicies = 5

// A StoredPolicy is a stored access policy of a table. A token that names it is valid only
// while the policy exists, and must not repeat its terms.
// learn.microsoft.com: "Define a stored access policy".
type StoredPolicy struct {
	ID          string    // 1 to 64 characters
	Start       time.Time // zero: the token's
	Expiry      time.Time // zero: the token's
	Permissions string    // empty: the token's
}

// Equal reports whether two policies have the same terms.
func (p StoredPolicy) Equal(o StoredPolicy) bool {
	return p.ID == o.ID && p.Start.Equal(o.Start) && p.Expiry.Equal(o.Expiry) && p.Permissions == o.Permissions
}

// ErrNeedsKey means that a client without the account's key was to read or set stored access policies. Azure answers
// requests that Entra authorizes as if the table did not exist, so they are not sent.
// learn.microsoft.com: "Set Table ACL", Authorization.
var ErrNeedsKey = errors.New("stored access policies need the account's key: " +
	"give a connection string with an AccountKey")

// SetPolicies replaces all stored access policies of the table. It never retries, because
// a repeated request could overwrite policies that others have set meanwhile. After a
// network error the change may be done or not, now or later. On Azure it takes up to 30 s
// until it is in force.
func (t *Table) SetPolicies(ctx context.Context, all []StoredPolicy) error {
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	err := t.setPolicies(ctx, all, StoredPolicy.identifier)
	if refusedByAzurite(err) {
		err = t.setPolicies(ctx, all, func(p StoredPolicy) *aztables.SignedIdentifier { return p.complete().identifier() })
	}
	return err
}

func (t *Table) setPolicies(ctx context.Context, all []StoredPolicy,
	write func(StoredPolicy) *aztables.SignedIdentifier) error {
	if t.sender.entra {
		return t.failed(KindSetPolicies, "", ErrNeedsKey)
	}
	o := &aztables.SetAccessPolicyOptions{}
	for _, p := range all {
		o.TableACL = append(o.TableACL, write(p))
	}
	return t.call(ctx, KindSetPolicies, func(ctx context.Context, sdk *aztables.Client) error {
		_, err := sdk.SetAccessPolicy(ctx, o)
		return err
	})
}

// StoredPolicies returns the stored access policies of the table, and the service's time
// of the answer, to the second.
func (t *Table) StoredPolicies(ctx context.Context) ([]StoredPolicy, time.Time, error) {
	if t.sender.entra {
		return nil, time.Time{}, t.failed(KindGetPolicies, "", ErrNeedsKey)
	}
	var answer *http.Response
	var resp aztables.GetAccessPolicyResponse
	err := t.call(ctx, KindGetPolicies, func(ctx context.Context, sdk *aztables.Client) (err error) {
		resp, err = sdk.GetAccessPolicy(policy.WithCaptureResponse(ctx, &answer), nil)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	all := make([]StoredPolicy, 0, len(resp.SignedIdentifiers))
	for _, id := range resp.SignedIdentifiers {
		p := storedPolicyOf(id)
		if isAzurite(answer.Header) {
			p = p.incomplete()
		}
		all = append(all, p)
	}
	return all, dateOf(answer.Header), nil
}

func (p StoredPolicy) identifier() *aztables.SignedIdentifier {
	a := &aztables.AccessPolicy{}
	if !p.Start.IsZero() {
		a.Start = to.Ptr(p.Start)
	}
	if !p.Expiry.IsZero() {
		a.Expiry = to.Ptr(p.Expiry)
	}
	if p.Permissions != "" {
		a.Permission = to.Ptr(p.Permissions)
	}
	return &aztables.SignedIdentifier{ID: to.Ptr(p.ID), AccessPolicy: a}
}

func storedPolicyOf(s *aztables.SignedIdentifier) StoredPolicy {
	a := cmp.Or(s.AccessPolicy, &aztables.AccessPolicy{})
	return StoredPolicy{ID: deref(s.ID), Start: deref(a.Start), Expiry: deref(a.Expiry), Permissions: deref(a.Permission)}
}

// deref returns *p, or zero if p is nil.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
