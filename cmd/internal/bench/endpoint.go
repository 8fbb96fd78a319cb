package bench

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"furrow/tables"
)

// An endpoint is a target that is open: clients for its services, and what was
// made in it and has to go when all is measured.
type endpoint struct {
	name    string
	null    bool
	account tables.Account
	key     []byte
	options azcore.ClientOptions
	clients int
	size    int
	server  *server // which the bench started; nil when it ran already

	tables   *tables.Client
	queues   *azqueue.ServiceClient
	blobs    *azblob.Client
	datasets map[int]*dataset // by number of rows
	cleanups []func(context.Context) error
}

func openAll(ctx context.Context, cfg Config) ([]*endpoint, error) {
	var ends []*endpoint
	for _, t := range cfg.Targets {
		e, err := open(ctx, t, cfg)
		if e != nil {
			ends = append(ends, e)
		}
		if err != nil {
			return ends, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return ends, nil
}

func open(ctx context.Context, t Target, cfg Config) (*endpoint, error) {
	e := &endpoint{
		name: t.Name, null: t.Start == Null, account: t.Account,
		options:  clientOptions(cfg.Transport),
		clients:  cfg.Clients,
		size:     cfg.Size,
		datasets: map[int]*dataset{},
	}
	if t.Start != "" {
		var err error
		if e.server, e.account, err = startServer(ctx, cfg.Executable, t.Start); err != nil {
			return nil, err
		}
	}
	return e, e.connect()
}

// clientOptions turn retries off: an error that is tried again is not seen, and
// its time is counted as the operation's.
func clientOptions(t *Transport) azcore.ClientOptions {
	return azcore.ClientOptions{Transport: t, Retry: policy.RetryOptions{MaxRetries: -1}}
}

func (e *endpoint) connect() error {
	c := e.account
	var err error
	if e.key, err = base64.StdEncoding.DecodeString(c.Key); err != nil {
		return fmt.Errorf("the account key is not base64: %w", err)
	}
	e.tables, err = tables.Connect(tables.Config{Account: c, Retry: e.options.Retry, Transport: e.options.Transport})
	if err != nil {
		return err
	}
	queueKey, err := azqueue.NewSharedKeyCredential(c.Name, c.Key)
	if err != nil {
		return err
	}
	e.queues, err = azqueue.NewServiceClientWithSharedKeyCredential(c.Queue, queueKey, &azqueue.ClientOptions{ClientOptions: e.options})
	if err != nil {
		return err
	}
	blobKey, err := azblob.NewSharedKeyCredential(c.Name, c.Key)
	if err != nil {
		return err
	}
	e.blobs, err = azblob.NewClientWithSharedKeyCredential(c.Blob, blobKey, &azblob.ClientOptions{ClientOptions: e.options})
	return err
}

// newTable makes a table of a random name, and sees to its end.
func (e *endpoint) newTable(ctx context.Context) (string, error) {
	name := randomName()
	if e.null {
		return name, nil
	}
	return name, e.make(ctx,
		e.tables.Table(name).Create, e.tables.Table(name).Delete)
}

// make makes something that is deleted at the end. Ctrl-C does not cut it short:
// what is given up half-way may exist all the same, and nobody would delete it.
func (e *endpoint) make(ctx context.Context, create, remove func(context.Context) error) error {
	if err := create(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	e.cleanups = append(e.cleanups, remove)
	return ctx.Err()
}

// closeAll deletes what was made, also when ctx has ended.
func closeAll(ctx context.Context, ends []*endpoint) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, e := range ends {
		if err := e.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: cleaning up: %w", e.name, brief(err)))
		}
	}
	return errors.Join(errs...)
}

func (e *endpoint) close(ctx context.Context) error {
	if e.server != nil {
		return e.server.stop() // its directory goes as a whole
	}
	var errs []error
	for _, cleanup := range slices.Backward(e.cleanups) {
		errs = append(errs, cleanup(ctx))
	}
	return errors.Join(errs...)
}

// randomName fits tables, queues and containers.
func randomName() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return "bench" + hex.EncodeToString(b)
}

// brief is a service's error without the headers and rules that its text is
// drawn with.
func brief(err error) error {
	refused, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok {
		return err
	}
	request := "the request"
	if r := refused.RawResponse; r != nil && r.Request != nil {
		request = r.Request.Method + " " + r.Request.URL.Host + r.Request.URL.Path
	}
	return fmt.Errorf("%s was answered %d %s", request, refused.StatusCode, refused.ErrorCode)
}
