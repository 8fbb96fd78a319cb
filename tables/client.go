package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Config configures a Client.
type Config struct {
	Account Account

	// Credential is used for an account with neither key nor SAS. If it is nil, azidentity
	// finds one: environment, workload or managed identity, or a login.
	Credential azcore.TokenCredential

	// Retry is azcore's. Zero means 3 retries, the first after 0.8 s. A zero TryTimeout means
	// a minute; storage gives up on a request after half a minute.
	Retry policy.RetryOptions

	// Transport sends requests. Nil means an http.Client that keeps enough idle connections
	// for a worker.
	Transport policy.Transporter

	// OnOperation is called for every request, including retries, with the caller's context
	// and from many goroutines. It may be nil.
	OnOperation func(context.Context, Operation)
}

// A Client gives access to the tables of an account. It is safe for concurrent use.
type Client struct {
	service func() (*aztables.ServiceClient, error)
	url     string // with its SAS, if any
	key     *aztables.SharedKeyCredential
	sender  *sender

	delegation runtime.Pipeline // for DelegationKey, with Entra
	pages      *sync.Pool       // of *bytes.Buffer, for the answers to queries and transactions
}

// Connect creates a Client. It sends no request.
func Connect(c Config) (*Client, error) {
	if c.Account.Table == "" {
		return nil, errors.New("storage: the account has no Table endpoint; parse a connection string or a URL with " +
			"ParseAccount")
	}
	url := c.Account.Table
	if c.Account.SAS != "" {
		url += "/?" + c.Account.SAS
	}
	client := &Client{url: url, pages: &sync.Pool{New: func() any { return &bytes.Buffer{} }}}
	c.Transport = service.Transport(c.Transport)
	credential, err := c.sign(client)
	if err == nil {
		client.sender, err = newSender(c, credential)
	}
	if err != nil {
		return nil, fmt.Errorf("storage account %s: %w", c.Account.Name, err)
	}
	return client, nil
}

// sign sets how the requests of aztables are signed, and returns Entra's credential for an account that needs one.
// Rows do without aztables, and opening it takes as long as storing some: a device that sends a row per token has none.
func (c Config) sign(client *Client) (credential azcore.TokenCredential, err error) {
	options := c.options()
	var open func() (*aztables.ServiceClient, error)
	switch {
	case c.Account.SAS != "":
		open = func() (*aztables.ServiceClient, error) {
			return aztables.NewServiceClientWithNoCredential(client.url, options)
		}
	case c.Account.Key != "":
		if client.key, err = aztables.NewSharedKeyCredential(c.Account.Name, c.Account.Key); err != nil {
			return nil, service.ErrKey
		}
		open = func() (*aztables.ServiceClient, error) {
			return aztables.NewServiceClientWithSharedKey(client.url, client.key, options)
		}
	default:
		if credential, err = service.Credential(c.Credential); err != nil {
			return nil, err
		}
		client.delegation = c.delegationPipeline(credential)
		open = func() (*aztables.ServiceClient, error) {
			return aztables.NewServiceClient(client.url, credential, options)
		}
	}
	client.service = sync.OnceValues(open)
	return credential, nil
}

// SetKey replaces the account's key in all requests from now on. The client was connected with a key.
func (c *Client) SetKey(key string) error {
	if err := service.SetKey(c.key, key); err != nil {
		return err
	}
	return c.sender.setKey(key)
}

func (c Config) options() *aztables.ClientOptions {
	o := &aztables.ClientOptions{}
	o.Retry, o.Transport = service.Retry(c.Retry), c.Transport
	if c.OnOperation != nil {
		o.PerRetryPolicies = []policy.Policy{observe(c.OnOperation)}
	}
	return o
}

// Tables returns the names of the account's tables.
func (c *Client) Tables(ctx context.Context) (names []string, err error) {
	sdk, err := c.service()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KindListTables, err)
	}
	for pager := sdk.NewListTablesPager(nil); pager.More(); {
		page, err := pager.NextPage((&call{kind: KindListTables}).within(ctx))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", KindListTables, named(err))
		}
		for _, t := range page.Tables {
			names = append(names, deref(t.Name))
		}
	}
	return names, nil
}

// Table returns a table, which need not exist yet.
func (c *Client) Table(name string) *Table {
	return &Table{Name: name, service: c.service, sender: c.sender, url: c.url, pages: c.pages}
}
