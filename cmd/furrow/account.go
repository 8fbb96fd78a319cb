package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

const defaultStorage = "./furrow-data"

// storageFlags belong to every command that works on an account.
func storageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "storage", Value: defaultStorage, EnvVars: []string{"FURROW_STORAGE"},
			DefaultText: defaultStorage, // or help would show the variable, which may hold a key
			Usage: "Storage of the fleet: `WHERE` is a directory that furrow storage serves, a connection string, the " +
				"URL of a Table service, or env:NAME for a variable that holds one"},
		namesPrefixFlag(),
		caFlag(),
	}
}

func namesPrefixFlag() cli.Flag {
	return &cli.StringFlag{Name: "names-prefix", EnvVars: []string{"FURROW_NAMES_PREFIX"},
		Usage: "`PREFIX` of table and queue names, if several fleets share an account"}
}

// oldPrefixVariable set --names-prefix in earlier versions. To ignore it would be to work on other tables.
const oldPrefixVariable = "FURROW_PREFIX"

// stores holds the clients of a fleet's account.
type stores struct {
	Account tables.Account
	Names   schema.Names
	Tables  *tables.Client
	Queues  *worker.Client // nil if the account has no Queue endpoint: see needQueues
	HTTP    *http.Client   // shared by all clients

	TableOperations tables.Counter
	QueueOperations worker.Counter
}

// operationHooks are called for every storage operation. Each may be nil.
type operationHooks struct {
	Table  func(context.Context, tables.Operation)
	Queue  func(context.Context, worker.Operation)
	Object func(context.Context, archive.Operation)
}

// namesOf returns the names that --names-prefix begins.
func namesOf(c *cli.Context) (schema.Names, error) {
	names, err := schema.ParseNames(c.String("names-prefix"))
	if err != nil {
		return schema.Names{}, usagef(c, "--names-prefix: %v", err)
	}
	return names, nil
}

// openStorage makes clients for the storage that the flags name. It sends nothing yet.
func openStorage(c *cli.Context, hooks ...operationHooks) (*stores, error) {
	if os.Getenv(oldPrefixVariable) != "" && !c.IsSet("names-prefix") {
		return nil, usagef(c, "the variable %s is now called FURROW_NAMES_PREFIX, like --names-prefix: rename it",
			oldPrefixVariable)
	}
	names, err := namesOf(c)
	if err != nil {
		return nil, err
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
	return s, s.connect(hooks)
}

func (s *stores) connect(hooks []operationHooks) (err error) {
	s.Tables, err = tables.Connect(tables.Config{Account: s.Account, Transport: s.HTTP,
		OnOperation: func(ctx context.Context, o tables.Operation) {
			s.TableOperations.Count(ctx, o)
			worker.Answered(ctx, o.Status)
			for _, h := range hooks {
				if h.Table != nil {
					h.Table(ctx, o)
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
			for _, h := range hooks {
				if h.Queue != nil {
					h.Queue(ctx, o)
				}
			}
		}})
	return err
}

// needQueues returns an error if the account has no queues.
func (s *stores) needQueues() error {
	if s.Queues == nil {
		return fmt.Errorf("storage account %s: this command needs the account's queues: set --storage or FURROW_STORAGE to "+
			"a connection string with a QueueEndpoint", s.Account.Name)
	}
	return nil
}

// withAuthorityAdvice adds advice to errors about untrusted certificates.
func withAuthorityAdvice(err error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w (name the file of its authority with --ca; that of furrow storage is DIR/tls/ca.pem)", err)
	}
	return err
}
