package roles

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/jobs/archive"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// Clients are those of a fleet's account.
type Clients struct {
	Account tables.Account
	Names   schema.Names
	Tables  *tables.Client
	Queues  *worker.Client // nil if the account has no Queue endpoint: see NeedQueues
	HTTP    *http.Client   // shared by all clients
	// Roots are the certificate authorities of receivers of notifications. It, and what it returns, may be nil: those of
	// the system.
	Roots func() *x509.CertPool
	hooks []Hooks
	disk  *disk // of embedded storage
}

// DiskFull reports whether the last answer of embedded storage said that its disk is full. Until there is room, what
// devices send is refused, and then what workers write, too.
func (c *Clients) DiskFull() bool { return c.disk.full.Load() }

// Hooks are called for every storage operation. Each may be nil.
type Hooks struct {
	Table  func(context.Context, tables.Operation)
	Queue  func(context.Context, worker.Operation)
	Object func(context.Context, archive.Operation)
}

// Connect makes clients. It sends nothing yet.
func Connect(a tables.Account, names schema.Names, transport *http.Client, hooks ...Hooks) (c *Clients, err error) {
	c = &Clients{Account: a, Names: names, hooks: hooks, disk: &disk{}}
	transport = c.disk.watching(transport)
	c.HTTP = transport
	c.Tables, err = tables.Connect(tables.Config{Account: a, Transport: transport,
		OnOperation: func(ctx context.Context, o tables.Operation) {
			worker.Answered(ctx, o.Status)
			for _, h := range hooks {
				if h.Table != nil {
					h.Table(ctx, o)
				}
			}
		}})
	if err != nil || a.Queue == "" {
		return c, err
	}
	c.Queues, err = worker.Connect(worker.Config{Account: a, Transport: transport,
		OnOperation: func(ctx context.Context, o worker.Operation) {
			worker.Answered(ctx, o.Status)
			for _, h := range hooks {
				if h.Queue != nil {
					h.Queue(ctx, o)
				}
			}
		}})
	return c, err
}

// NeedQueues returns an error if the account has no queues.
func (c *Clients) NeedQueues() error {
	if c.Queues == nil {
		return fmt.Errorf("storage account %s: this command needs the account's queues: set --storage or FURROW_STORAGE to "+
			"a connection string with a QueueEndpoint", c.Account.Name)
	}
	return nil
}

// policyDelay is how long Azure takes until a change of a stored access policy is in force everywhere.
// learn.microsoft.com: "Define a stored access policy".
const policyDelay = 30 * time.Second

// Policies returns the stored access policies of the account's tokens.
func (c *Clients) Policies(log *slog.Logger) *sas.Policies {
	p := &sas.Policies{Client: c.Tables, Names: c.Names, Delay: policyDelay, Log: log}
	if c.Account.PathStyle() {
		p.Delay = 0 // local storage or an emulator
	}
	return p
}

// Generations returns the store of the fleet's configuration.
func (c *Clients) Generations() generations.Store {
	return generations.New(c.Tables.Table(c.Names.Config()))
}

// Fleet returns the fleet with the pipelines of a configuration that have these names, or with all.
func (c *Clients) Fleet(g generations.Loaded, names ...string) (*Fleet, error) {
	if err := c.NeedQueues(); err != nil {
		return nil, err
	}
	f := &Fleet{Tables: c.Tables, Queues: c.Queues, Names: c.Names, Roots: c.Roots, Pipelines: g.Config.Pipelines,
		Generation: g.Generation, Format: g.Format}
	err := f.Select(names...)
	if err == nil {
		f.Archive, err = c.archive(f.Pipelines)
	}
	return f, err
}

// Objects returns the store of objects, nil if the account has no Blob endpoint.
func (c *Clients) Objects() (*archive.Store, error) { return c.archive(nil) }

// archive returns the store of objects, nil if the account has no Blob endpoint and no pipeline needs one.
func (c *Clients) archive(pipelines []config.Pipeline) (*archive.Store, error) {
	if c.Account.Blob == "" && !slices.ContainsFunc(pipelines, config.Pipeline.Archives) {
		return nil, nil
	}
	return archive.Connect(archive.StoreConfig{Account: c.Account, Container: c.Names.Archive(), Transport: c.HTTP,
		OnOperation: func(ctx context.Context, o archive.Operation) {
			worker.Answered(ctx, o.Status)
			for _, h := range c.hooks {
				if h.Object != nil {
					h.Object(ctx, o)
				}
			}
		}})
}

// diskFull is a header of embedded storage: see local.FullHeader.
const diskFull = "X-Furrow-Disk-Full"

// A disk notes what embedded storage says with every answer: whether its disk is full. Azure never says so.
type disk struct {
	next http.RoundTripper
	full atomic.Bool
}

// watching returns a client that notes it.
func (d *disk) watching(c *http.Client) *http.Client {
	noting := *c
	d.next = cmp.Or(c.Transport, http.DefaultTransport)
	noting.Transport = d
	return &noting
}

func (d *disk) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.next.RoundTrip(r)
	if err == nil {
		d.full.Store(answer.Header.Get(diskFull) != "")
	}
	return answer, err
}

// CloseIdleConnections serves http.Client.
func (d *disk) CloseIdleConnections() {
	if t, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
