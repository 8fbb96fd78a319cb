package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Config says how to reach the queues of an account.
type Config struct {
	Account tables.Account

	// Credential opens an account that has neither key nor SAS. If it is nil, azidentity looks for one: in the
	// environment, a workload or managed identity, or a login.
	Credential azcore.TokenCredential

	// Retry is azcore's: zero means 3 retries, the first after 0.8 s. A zero TryTimeout means a minute. Updates and
	// deletes of messages are never retried.
	Retry policy.RetryOptions

	// Transport sends requests. If it is nil, the client gets an http.Client that keeps enough idle connections for a
	// pool.
	Transport policy.Transporter

	// OnOperation, if not nil, is called for every request, including each retry, from many goroutines and with the
	// caller's context.
	OnOperation func(context.Context, Operation)
}

// A Client gives access to the queues of an account. It is safe for concurrent use.
type Client struct {
	service *azqueue.ServiceClient
	key     *azqueue.SharedKeyCredential // nil if requests are authorized in another way
	try     time.Duration                // longest wait for an answer
	queues  sync.Map                     // *Queue by the name of its live queue
}

// Connect returns a Client. It sends nothing.
func Connect(c Config) (*Client, error) {
	if c.Account.Queue == "" {
		return nil, errors.New("storage: the account has no Queue endpoint; give a connection string that has a " +
			"QueueEndpoint")
	}
	c.Retry = service.Retry(c.Retry)
	queues, key, err := c.service()
	if err != nil {
		return nil, fmt.Errorf("storage account %s: %w", c.Account.Name, err)
	}
	return &Client{service: queues, key: key, try: c.Retry.TryTimeout}, nil
}

// service also returns the credential if it is the account's key.
func (c Config) service() (s *azqueue.ServiceClient, key *azqueue.SharedKeyCredential, err error) {
	options := c.options()
	url := c.Account.Queue + "/"
	switch {
	case c.Account.SAS != "":
		s, err = azqueue.NewServiceClientWithNoCredential(url+"?"+c.Account.SAS, options)
		return s, nil, err
	case c.Account.Key != "":
		if key, err = azqueue.NewSharedKeyCredential(c.Account.Name, c.Account.Key); err != nil {
			return nil, nil, service.ErrKey
		}
		s, err = azqueue.NewServiceClientWithSharedKeyCredential(url, key, options)
		return s, key, err
	}
	credential, err := service.Credential(c.Credential)
	if err != nil {
		return nil, nil, err
	}
	s, err = azqueue.NewServiceClient(url, credential, options)
	return s, nil, err
}

// SetKey replaces the account's key in all requests from now on. The client was connected with a key.
func (c *Client) SetKey(key string) error { return service.SetKey(c.key, key) }

func (c Config) options() *azqueue.ClientOptions {
	o := &azqueue.ClientOptions{}
	o.Retry, o.Transport = c.Retry, service.Transport(c.Transport)
	if c.OnOperation != nil {
		o.PerRetryPolicies = []policy.Policy{observe(c.OnOperation)}
	}
	return o
}
