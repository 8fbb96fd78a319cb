package main

import (
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/tables/schema"
)

const defaultStorage = "./furrow-data"

// storageFlags belong to every command that works on an account.
func storageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "storage", Value: defaultStorage, EnvVars: []string{"FURROW_STORAGE"},
			DefaultText: defaultStorage, // or help would show the variable, which may hold a key
			Usage: "Storage of the fleet: `WHERE` is a directory that furrow storage serves, a connection string, the " +
				"URL of a Table service, or env:NAME or file:NAME for a variable or a file that holds one"},
		namesPrefixFlag(),
		caFlag(),
	}
}

func namesPrefixFlag() cli.Flag {
	return &cli.StringFlag{Name: "names-prefix", EnvVars: []string{"FURROW_NAMES_PREFIX"},
		Usage: "`PREFIX` of table and queue names, if several fleets share an account"}
}

// stores are the clients of a fleet's account.
type stores struct {
	*roles.Clients
	keys *keyFile
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
func openStorage(c *cli.Context, hooks ...roles.Hooks) (*stores, error) {
	names, err := namesOf(c)
	if err != nil {
		return nil, err
	}
	return openStorageAt(c, storagesOf(c)[0], "--storage", names, hooks...)
}

// openStorageAt makes clients for the storage at where, which the command line gives as what.
func openStorageAt(c *cli.Context, where, what string, names schema.Names, hooks ...roles.Hooks) (*stores, error) {
	found, err := setup.Find(where)
	if errors.Is(err, setup.ErrNotServed) {
		return nil, err
	}
	if err != nil {
		return nil, usagef(c, "%s: %v", what, err)
	}
	if ca := c.String("ca"); ca != "" {
		found.CAFile = ca
	}
	transport, err := setup.FollowingTransport(found.CAFile, logFor(c))
	if err != nil {
		return nil, usagef(c, "--ca: %v", err)
	}
	trusted := *transport
	transport.Transport = setup.Direct(c.Context, transport.Transport)
	clients, err := roles.Connect(found.Account, names, transport, hooks...)
	if err != nil {
		return nil, err
	}
	clients.Roots = func() *x509.CertPool { return setup.Roots(&trusted) }
	s := &stores{clients, &keyFile{name: found.File, is: found.Account}}
	s.keys.used(s.Tables)
	if s.Queues != nil {
		s.keys.used(s.Queues)
	}
	return s, nil
}

// withAuthorityAdvice adds advice to errors about untrusted certificates.
func withAuthorityAdvice(err error) error {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return fmt.Errorf("%w (name the file of its authority with --ca; that of furrow storage is DIR/tls/ca.pem)", err)
	}
	return err
}
