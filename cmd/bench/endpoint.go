package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// An endpoint is an open target: clients for its services, and what the benchmark
// has created there and deletes at the end.
type endpoint struct {
	name    string
	account tables.Account
	options azcore.ClientOptions
	clients int
	server  *server // nil if the benchmark did not start it

	tables   *tables.Client
	queues   *azqueue.ServiceClient
	blobs    *azblob.Client
	filled   dataset
	cleanups []func(context.Context) error
}

// A server is local storage that the benchmark has started.
type server struct {
	*process.Process
	directory string
}

// startTime is how long a server may take to print where it listens.
const startTime = 30 * time.Second

// startStorage starts furrow storage in a temporary directory.
func startStorage(ctx context.Context, executable string) (*server, tables.Account, error) {
	directory, err := os.MkdirTemp("", "furrow-bench-")
	if err != nil {
		return nil, tables.Account{}, err
	}
	s := &server{directory: directory}
	var said struct{ ConnectionString string }
	s.Process, err = start(ctx, &said, executable, directory, "storage",
		"storage", "--data", directory, "--listen", "127.0.0.1:0", "--json", "--show-key")
	if err != nil {
		return nil, tables.Account{}, errors.Join(err, os.RemoveAll(directory))
	}
	account, err := setup.AccountWithKey(said.ConnectionString)
	if err != nil {
		return nil, account, errors.Join(err, s.stop())
	}
	return s, account, nil
}

// start starts a command and decodes the line of JSON that it prints when it is ready.
func start(ctx context.Context, said any, executable, dir, name string, args ...string) (*process.Process, error) {
	p, err := process.Start(executable, dir, name, nil, args...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	line, err := p.FirstLine(ctx)
	if err == nil {
		err = json.Unmarshal(line, said)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), p.Stop())
	}
	return p, nil
}

func (s *server) stop() error { return errors.Join(s.Stop(), os.RemoveAll(s.directory)) }

// openAll opens targets, whose filled tables have so many rows.
func (s settings) openAll(ctx context.Context, targets []target, rows int) (ends []*endpoint, err error) {
	client, err := setup.Transport("")
	if err != nil {
		return nil, err
	}
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = s.clients
	for _, t := range targets {
		e := &endpoint{name: t.name, account: t.account, clients: s.clients, filled: dataset{rows: rows},
			// An error that is retried would not be seen, and its time would count as the operation's.
			options: azcore.ClientOptions{Transport: client, Retry: policy.RetryOptions{MaxRetries: -1}}}
		if t.local {
			if e.server, e.account, err = startStorage(ctx, s.executable); err != nil {
				return ends, fmt.Errorf("%s: %w", t.name, err)
			}
		}
		ends = append(ends, e)
		if err := e.open(); err != nil {
			return ends, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return ends, nil
}

func (e *endpoint) connect(a tables.Account) (*tables.Client, error) {
	return tables.Connect(tables.Config{Account: a, Retry: e.options.Retry, Transport: e.options.Transport})
}

func (e *endpoint) open() error {
	c := e.account
	var err error
	if e.tables, err = e.connect(c); err != nil {
		return err
	}
	queueKey, err := azqueue.NewSharedKeyCredential(c.Name, c.Key)
	if err != nil {
		return err
	}
	queueOptions := &azqueue.ClientOptions{ClientOptions: e.options}
	if e.queues, err = azqueue.NewServiceClientWithSharedKeyCredential(c.Queue, queueKey, queueOptions); err != nil {
		return err
	}
	blobKey, err := azblob.NewSharedKeyCredential(c.Name, c.Key)
	if err != nil {
		return err
	}
	blobOptions := &azblob.ClientOptions{ClientOptions: e.options}
	e.blobs, err = azblob.NewClientWithSharedKeyCredential(c.Blob, blobKey, blobOptions)
	return err
}

// newTable creates a table with a random name, which is deleted at the end.
func (e *endpoint) newTable(ctx context.Context) (string, error) {
	name := randomName()
	return name, e.make(ctx, e.tables.Table(name).Create, e.tables.Table(name).Delete)
}

// make creates something that is deleted at the end. Ctrl-C does not interrupt it:
// something whose creation is given up halfway may still exist, and nobody would delete it.
func (e *endpoint) make(ctx context.Context, create, remove func(context.Context) error) error {
	if err := create(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	e.cleanups = append(e.cleanups, remove)
	return ctx.Err()
}

// closeAll deletes what was created, even after ctx has ended.
func (s settings) closeAll(ctx context.Context, ends []*endpoint) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, e := range ends {
		if e.server != nil {
			s.printMemory(e.name, e.server.PID())
			errs = append(errs, e.server.stop()) // its directory is deleted as a whole
			continue
		}
		for _, cleanup := range slices.Backward(e.cleanups) {
			if err := cleanup(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%s: cleaning up: %w", e.name, brief(err)))
			}
		}
	}
	return errors.Join(errs...)
}

// randomName is valid for tables, queues and containers.
func randomName() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return "bench" + hex.EncodeToString(b)
}

// brief shortens a service's error to one line: the request and the answer.
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
