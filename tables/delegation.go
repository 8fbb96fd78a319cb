package tables

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// A DelegationKey signs tokens with the rights of an Entra identity, for accounts without keys. It is a secret.
// learn.microsoft.com: "Get User Delegation Key".
type DelegationKey struct {
	ObjectID, TenantID string // of the identity
	Start, Expiry      time.Time
	Service, Version   string
	Value              []byte
}

// delegationVersion is the first version in which the Table service has such keys.
const delegationVersion = "2025-07-05"

// storageScope is the audience of Entra's tokens for storage, in all clouds.
const storageScope = "https://storage.azure.com/.default"

// ErrNeedsIdentity means that a client with the account's key or a SAS was to get a user delegation key.
var ErrNeedsIdentity = errors.New("a user delegation key is only given to an Entra identity")

// DelegationKey returns a key of the identity that the client signs in with. It is valid from start to expiry, which is
// at most seven days from now. The identity needs the role Storage Table Delegator, and tokens allow at most what its
// other roles do.
func (c *Client) DelegationKey(ctx context.Context, start, expiry time.Time) (DelegationKey, error) {
	if !c.sender.entra {
		return DelegationKey{}, ErrNeedsIdentity
	}
	ctx = (&call{kind: KindDelegationKey}).within(ctx)
	at := runtime.JoinPaths(c.url, "/") + "?restype=service&comp=userdelegationkey"
	req, err := runtime.NewRequest(ctx, http.MethodPost, at)
	if err != nil {
		return DelegationKey{}, err
	}
	body, err := xml.Marshal(struct {
		XMLName       xml.Name `xml:"KeyInfo"`
		Start, Expiry string
	}{Start: start.UTC().Format(time.RFC3339), Expiry: expiry.UTC().Format(time.RFC3339)})
	if err != nil {
		return DelegationKey{}, err
	}
	if err := req.SetBody(streaming.NopCloser(bytes.NewReader(body)), "application/xml"); err != nil {
		return DelegationKey{}, err
	}
	req.Raw().Header.Set("x-ms-version", delegationVersion)
	resp, err := c.delegation.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = runtime.NewResponseError(resp)
	}
	if err != nil {
		return DelegationKey{}, fmt.Errorf("%s: %w", KindDelegationKey, named(err))
	}
	return delegationKeyOf(resp)
}

func delegationKeyOf(resp *http.Response) (DelegationKey, error) {
	var told struct {
		SignedOid, SignedTid         string
		SignedStart, SignedExpiry    time.Time
		SignedService, SignedVersion string
		Value                        string
	}
	if err := runtime.UnmarshalAsXML(resp, &told); err != nil {
		return DelegationKey{}, fmt.Errorf("%s: the answer: %w", KindDelegationKey, err)
	}
	value, err := base64.StdEncoding.DecodeString(told.Value)
	if err != nil || len(value) == 0 || told.SignedExpiry.IsZero() {
		return DelegationKey{}, fmt.Errorf("%s: the answer has no key", KindDelegationKey)
	}
	return DelegationKey{ObjectID: told.SignedOid, TenantID: told.SignedTid, Start: told.SignedStart,
		Expiry: told.SignedExpiry, Service: told.SignedService, Version: told.SignedVersion, Value: value}, nil
}

// delegationPipeline sends what aztables does not have: requests for user delegation keys.
func (c Config) delegationPipeline(credential azcore.TokenCredential) runtime.Pipeline {
	o := c.options()
	return runtime.NewPipeline("furrow", "", runtime.PipelineOptions{
		PerRetry: []policy.Policy{runtime.NewBearerTokenPolicy(credential, []string{storageScope}, nil)}}, &o.ClientOptions)
}
