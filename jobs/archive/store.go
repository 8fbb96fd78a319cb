package archive

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// StoreConfig says how to reach the container of an archive.
type StoreConfig struct {
	Account   tables.Account
	Container string // as Names.Archive

	// Credential opens an account that has neither key nor SAS. If it is nil, azidentity looks for one: in the
	// environment, a workload or managed identity, or a login.
	Credential azcore.TokenCredential

	// Retry is azcore's: zero means 3 retries, the first after 0.8 s. A zero TryTimeout means a minute, in which up to 4
	// MiB must get through.
	Retry policy.RetryOptions

	// Transport sends requests. If it is nil, the store gets an http.Client that keeps enough idle connections for a
	// worker.
	Transport policy.Transporter

	// OnOperation, if not nil, is called for every request, including each retry, from many goroutines and with the
	// caller's context.
	OnOperation func(context.Context, Operation)
}

// A Store is a container of objects. Its errors name the operation, the container and the object. It is safe for
// concurrent use.
type Store struct {
	name      string
	container *container.Client
	key       *blob.SharedKeyCredential // nil if requests are authorized in another way
	block     int                       // bytes; blockSize except in tests
	config    StoreConfig
}

// Connect returns a Store. It sends nothing.
func Connect(c StoreConfig) (*Store, error) {
	if c.Account.Blob == "" {
		return nil, errors.New("storage: the account has no Blob endpoint for the archive; give a connection " +
			"string that has a BlobEndpoint")
	}
	client, key, err := c.client()
	if err != nil {
		return nil, fmt.Errorf("storage account %s: %w", c.Account.Name, err)
	}
	return &Store{name: c.Container, container: client, key: key, block: blockSize, config: c}, nil
}

// client also returns the credential if it is the account's key.
func (c StoreConfig) client() (s *container.Client, key *blob.SharedKeyCredential, err error) {
	options := c.options()
	url := c.Account.Blob + "/" + c.Container
	switch {
	case c.Account.SAS != "":
		s, err = container.NewClientWithNoCredential(url+"?"+c.Account.SAS, options)
		return s, nil, err
	case c.Account.Key != "":
		if key, err = blob.NewSharedKeyCredential(c.Account.Name, c.Account.Key); err != nil {
			return nil, nil, service.ErrKey
		}
		s, err = container.NewClientWithSharedKeyCredential(url, key, options)
		return s, key, err
	}
	credential, err := service.Credential(c.Credential)
	if err != nil {
		return nil, nil, err
	}
	s, err = container.NewClient(url, credential, options)
	return s, nil, err
}

// Sibling returns another container of the account.
func (s *Store) Sibling(name string) (*Store, error) {
	c := s.config
	c.Container = name
	return Connect(c)
}

// SetKey replaces the account's key in all requests from now on. The store was connected with a key.
func (s *Store) SetKey(key string) error { return service.SetKey(s.key, key) }

func (c StoreConfig) options() *container.ClientOptions {
	o := &container.ClientOptions{}
	o.Retry, o.Transport = service.Retry(c.Retry), service.Transport(c.Transport)
	if c.OnOperation != nil {
		o.PerRetryPolicies = []policy.Policy{observe(c.OnOperation)}
	}
	return o
}

// Create creates the container unless it exists. Azure refuses this for half a minute or more after a container of that
// name was deleted.
func (s *Store) Create(ctx context.Context) error {
	_, err := s.container.Create(call{KindCreate, ""}.within(ctx), nil)
	if err = named(err); err == nil || errors.Is(err, tables.ErrExists) {
		return nil
	}
	return fmt.Errorf("%s %s: %w", KindCreate, s.name, err)
}

// ErrNoContainer says that the archive was not created. Callers also handle tables.ErrExists, tables.ErrConflict and
// tables.ErrBusy.
var ErrNoContainer = errors.New("no such container")

// ErrNoObject says that there is no such object.
var ErrNoObject = errors.New("no such object")

// named wraps an error of the blob service in one of the errors above, if one fits, and keeps the original.
func named(err error) error { return service.Read(err, nameOf) }

// nameOf lists the error codes. learn.microsoft.com: "Blob service error codes".
func nameOf(f *service.Failure) error {
	switch bloberror.Code(f.Code) {
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted:
		return ErrNoContainer
	case bloberror.BlobNotFound:
		return ErrNoObject
	case bloberror.ContainerAlreadyExists, bloberror.BlobAlreadyExists:
		return tables.ErrExists
	case bloberror.ConditionNotMet:
		return tables.ErrConflict
	}
	if f.Busy() {
		return tables.ErrBusy
	}
	return nil
}
