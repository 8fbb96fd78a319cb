package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

const defaultStorage = "./furrow-data"

// storageFlags are those of every command that works on an account.
func storageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "storage", Value: defaultStorage, EnvVars: []string{"FURROW_STORAGE"},
			DefaultText: defaultStorage, // or help would show what the environment holds, which may be a key
			Usage: "Storage of the fleet: `WHERE` is a directory that furrow storage serves, a connection string, the " +
				"URL of a Table service, or env:NAME for a variable that holds one"},
		&cli.StringFlag{Name: "names-prefix", EnvVars: []string{"FURROW_PREFIX"},
			Usage: "`PREFIX` of table and queue names, for several fleets in one account"},
		&cli.StringFlag{Name: "ca", Usage: "PEM `FILE` of certificates to trust besides the system's, for https with a " +
			"private authority"},
	}
}

// stores are the clients of a fleet's account.
type stores struct {
	Account tables.Account
	Names   schema.Names
	Tables  *tables.Client
	Queues  *worker.Client // nil where the account has no Queue endpoint: see needQueues
	HTTP    *http.Client   // which all of them send through

	TableOperations tables.Counter
	QueueOperations worker.Counter
}

// A operationHooks is told of every operation, besides the counters. Each may be nil.
type operationHooks struct {
	Table  func(context.Context, tables.Operation)
	Queue  func(context.Context, worker.Operation)
	Object func(ctx context.Context, kind string)
}

// openStorage finds the storage that the flags name. Nothing is sent yet.
func openStorage(c *cli.Context, watchers ...operationHooks) (*stores, error) {
	names, err := schema.ParseNames(c.String("names-prefix"))
	if err != nil {
		return nil, usagef(c, "--names-prefix: %v", err)
	}
	found, err := setup.Find(c.String("storage"))
	if errors.Is(err, setup.ErrNotServed) {
		return nil, err
	}
	if err != nil {
		return nil, usagef(c, "--storage: %v", err)
	}
	if ca := c.String("ca"); ca != "" {
		found.CAFile = ca
	}
	s := &stores{Account: found.Account, Names: names}
	if s.HTTP, err = setup.Transport(found.CAFile); err != nil {
		return nil, usagef(c, "--ca: %v", err)
	}
	return s, s.connect(watchers)
}

func (s *stores) connect(watchers []operationHooks) (err error) {
	s.Tables, err = tables.Connect(tables.Config{Account: s.Account, Transport: s.HTTP,
		OnOperation: func(ctx context.Context, o tables.Operation) {
			s.TableOperations.Count(ctx, o)
			worker.Answered(ctx, o.Status)
			for _, w := range watchers {
				if w.Table != nil {
					w.Table(ctx, o)
				}
			}
		}})
	if err != nil || s.Account.Queue == "" {
		return err
	}
	s.Queues, err = worker.Connect(worker.Config{Account: s.Account, Transport: s.HTTP,
		OnOperation: func(ctx context.Context, o worker.Operation) {
			s.QueueOperations.Count(ctx, o)
			worker.Answered(ctx, o.Status)
			for _, w := range watchers {
				if w.Queue != nil {
					w.Queue(ctx, o)
				}
			}
		}})
	return err
}

// needQueues is for commands that cannot do without queues.
func (s *stores) needQueues() error {
	if s.Queues == nil {
		return fmt.Errorf("storage account %s: it is known without its queues, which this command needs: give a connection "+
			"string that has a QueueEndpoint with --storage or FURROW_STORAGE", s.Account.Name)
	}
	return nil
}

// withAuthorityAdvice says what can be done about a certificate that nobody vouches for.
func withAuthorityAdvice(err error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w (give the file of its authority with --ca, such as DIR/tls/ca.pem of furrow storage)", err)
	}
	return err
}
