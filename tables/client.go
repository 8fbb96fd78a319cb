package tables

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
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
	service *aztables.ServiceClient
	url     string // with its SAS, if any
	entra   bool   // Entra authorizes requests
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
	service, err := c.service(url)
	if err != nil {
		return nil, fmt.Errorf("storage account %s: %w", c.Account.Name, err)
	}
	return &Client{service: service, url: url, entra: c.Account.Key == "" && c.Account.SAS == ""}, nil
}

func (c Config) service(url string) (*aztables.ServiceClient, error) {
	options := c.options()
	switch {
	case c.Account.SAS != "":
		return aztables.NewServiceClientWithNoCredential(url, options)
	case c.Account.Key != "":
		key, err := aztables.NewSharedKeyCredential(c.Account.Name, c.Account.Key)
		if err != nil {
			return nil, errors.New("its key is not in base64; copy it whole, with the = signs at its end")
		}
		return aztables.NewServiceClientWithSharedKey(url, key, options)
	}
	credential, err := service.Credential(c.Credential)
	if err != nil {
		return nil, err
	}
	return aztables.NewServiceClient(url, credential, options)
}

func (c Config) options() *aztables.ClientOptions {
	o := &aztables.ClientOptions{}
	o.Retry, o.Transport = service.Retry(c.Retry), service.Transport(c.Transport)
	o.PerCallPolicies = []policy.Policy{bodies{}}
	if c.OnOperation != nil {
		o.PerRetryPolicies = []policy.Policy{observe(c.OnOperation)}
	}
	return o
}

// Table returns a table, which need not exist yet.
func (c *Client) Table(name string) *Table {
	return &Table{Name: name, client: c.service.NewClient(name), url: c.url, entra: c.entra}
}
