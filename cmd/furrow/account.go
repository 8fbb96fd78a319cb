package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/commands"
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
	log  *slog.Logger
}

// namesOf returns the names that --names-prefix begins.
func namesOf(c *cli.Context) (schema.Names, error) {
	names, err := schema.ParseNames(c.String("names-prefix"))
	if err != nil {
		return schema.Names{}, usagef(c, "--names-prefix: %v", err)
	}
	return names, nil
}

// openFleetStorage is openStorage for changes of the fleet there. It refuses the destination of an unfinished copy, as
// the next pass of the copy would delete what is written there, and a layout that this program does not know.
func openFleetStorage(c *cli.Context) (*stores, error) {
	s, err := openStorage(c)
	if err != nil {
		return nil, err
	}
	return s, schema.CheckLayout(c.Context, s.Tables.Table(s.Names.Fleet()))
}

// openStorage makes clients for the storage that the flags name. It sends nothing yet.
func openStorage(c *cli.Context, hooks ...roles.Hooks) (*stores, error) {
	return openStorageAt(c, nil, storagesOf(c)[0], "--storage", hooks...)
}

// openStorageAt makes clients for the storage at where, which the command line gives as what. They reach the storage of
// own, which this process serves, without a connection; if it serves none, own is nil.
func openStorageAt(c *cli.Context, own *setup.Embedded, where, what string, hooks ...roles.Hooks) (*stores, error) {
	names, err := namesOf(c)
	if err != nil {
		return nil, err
	}
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
	log := logFor(c)
	transport, err := setup.FollowingTransport(found.CAFile, log)
	if err != nil {
		return nil, usagef(c, "--ca: %v", err)
	}
	trusted := *transport
	transport.Transport = own.Direct(transport.Transport)
	clients, err := roles.Connect(found.Account, names, transport, hooks...)
	if err != nil {
		return nil, err
	}
	clients.Roots = func() *x509.CertPool { return setup.Roots(&trusted) }
	s := &stores{clients, &keyFile{name: found.File, is: found.Account}, log}
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

// warnOfPlainSecrets warns of secrets on the command line, where every user of the machine can see them.
func warnOfPlainSecrets(c *cli.Context) error {
	for _, f := range []struct {
		flag, variable string
		instead        string
		secret         func(string) bool
	}{
		{"storage", "FURROW_STORAGE", "set FURROW_STORAGE, or use --storage env:NAME", namesSecret},
		{"account-key", "FURROW_ACCOUNT_KEY", "set FURROW_ACCOUNT_KEY", func(string) bool { return true }},
	} {
		given := append(c.StringSlice(f.flag), c.String(f.flag))
		if slices.ContainsFunc(given, func(text string) bool {
			return text != "" && text != os.Getenv(f.variable) && f.secret(text)
		}) {
			fmt.Fprintf(c.App.ErrWriter, "warning: --%s contains a secret, and every user of this machine can see it in the "+
				"list of processes: %s.\n", f.flag, f.instead)
		}
	}
	return nil
}

// namesSecret reports whether storage is named by a connection string or a URL that contains a key or a token.
func namesSecret(storage string) bool {
	if !strings.Contains(storage, "=") {
		return false
	}
	a, err := tables.ParseAccount(storage)
	return err == nil && (a.Key != "" || a.SAS != "")
}

// policies returns the stored access policies of the account's tokens.
func (s *stores) policies() *sas.Policies { return s.Policies(s.log) }

// enrollments returns the fleet's enrollments. Their keys stay sealed.
func (s *stores) enrollments() *sas.Enrollments {
	return &sas.Enrollments{Table: s.Tables.Table(s.Names.Enrollments())}
}

// issuer returns an issuer for the Table service at a URL; empty is the account's own.
func (s *stores) issuer(url string, n *sas.Enrollments, p *sas.Policies) (*sas.Issuer, error) {
	config := sas.IssuerConfig{Account: s.Account, URL: url, Enrollments: n, Policies: p,
		Registry: sas.NewRegistry(s.Tables, s.Names), Commands: commands.Of(s.Tables, s.Names)}
	if s.Account.Key == "" && s.Account.SAS == "" {
		config.Delegate = s.Tables.DelegationKey
	}
	i, err := sas.NewIssuer(config)
	s.keys.used(i)
	return i, err
}

// tableURLFlag belongs to commands that issue tokens.
func tableURLFlag() cli.Flag {
	return &cli.StringFlag{Name: "table-url", DefaultText: "the account's own",
		Usage: "`URL` of the Table service as devices reach it, if it differs from the one of this machine"}
}
