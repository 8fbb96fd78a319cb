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

// Config says how to reach the tables of an account.
type Config struct {
	Account Account

	// Credential opens an account that has neither key nor SAS; nil means what
	// azidentity finds: environment, workload or managed identity, or a login.
	Credential azcore.TokenCredential

	// Retry is azcore's, whose zero means 3 retries from 0.8 s on. A zero TryTimeout
	// means a minute, as storage gives up on a request after half of one.
	Retry policy.RetryOptions

	// Transport sends requests; nil means an http.Client of its own that keeps
	// enough idle connections for a worker.
	Transport policy.Transporter

	// OnOperation is told of every request, each retry included; nil means nobody
	// is. It is called from many goroutines and with the caller's context.
	OnOperation func(context.Context, Operation)
}

// A Client gives access to the tables of an account. It is safe for concurrent use.
type Client struct {
	service *aztables.ServiceClient
	url     string // with its SAS, if any
}

// Connect prepares a Client; nothing is sent before its first operation.
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
	return &Client{service: service, url: url}, nil
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

// Table is the table of that name, which need not exist yet.
func (c *Client) Table(name string) *Table {
	return &Table{Name: name, client: c.service.NewClient(name), url: c.url}
}
