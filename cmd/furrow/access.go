package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

func accessCommand() *cli.Command {
	return &cli.Command{
		Name:  "access",
		Usage: "Manage who may look at the dashboard, and act from it",
		Description: `With a tenant, a token sees that tenant only: all others are unknown to it. All roles see the same, and act from
pages:
  viewer    nothing
  operator  revoke, restore and release devices; with access to all tenants also rewind devices, and redrive
            poison messages
  admin     as operator, and revoke devices where that locks out others
The password and the token of the dashboard, and people who need not sign in, only look, because the activity
log could not name them. Once anybody has access, the dashboard requires everybody to sign in.`,
		Subcommands: []*cli.Command{{
			Name:      "add",
			Usage:     "Give somebody access, and print the token",
			ArgsUsage: "NAME",
			Description: `The token is printed once; storage has only its hash. NAME is that of a person or a program, for example an
e-mail address: the activity log shows it. Behind a proxy that signs people in (--trust-header), it is the
name that the proxy gives.` + examples(
				"access add alice --role admin",
				"access add contoso-wall --role viewer --tenant contoso"),
			Flags: append(storageFlags(),
				choiceFlag("role", "", textsOf([]schema.Role{schema.Viewer, schema.Operator, schema.Admin}),
					"`ROLE`: viewer, operator or admin"),
				&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "`TENANT` that the token sees"},
				jsonFlag()),
			Action: accessAdd,
		}, {
			Name:        "list",
			Usage:       "List who has access",
			Description: examples("access list", "access list --json"),
			Flags:       append(storageFlags(), listFlags()...),
			Action:      accessList,
		}, {
			Name:      "rotate",
			Usage:     "Replace a token, and print the new one",
			ArgsUsage: "NAME",
			Description: "The old token, and whoever signed in with it, is refused within " + short(access.Recent) + "." +
				examples("access rotate alice"),
			Flags:  append(storageFlags(), jsonFlag()),
			Action: accessRotate,
		}, {
			Name:      "remove",
			Usage:     "End somebody's access",
			ArgsUsage: "NAME",
			Description: "The token, and whoever signed in with it, is refused within " + short(access.Recent) + "." +
				examples("access remove alice"),
			Flags:  append(storageFlags(), jsonFlag()),
			Action: accessRemove,
		}},
	}
}

// accessLine is somebody who has access, in JSON.
type accessLine struct {
	Name    string        `json:"name" column:"name"`
	Role    schema.Role   `json:"role" column:"role"`
	Tenant  schema.Tenant `json:"tenant,omitempty" column:"tenant"` // that the token sees; without it all
	By      string        `json:"by" column:"by"`                   // who added it
	Created time.Time     `json:"created" column:"created"`
	Token   string        `json:"token,omitempty"` // only where it was made just now
}

func accessAdd(c *cli.Context) error {
	name, err := argument(c, 0, schema.ParseAccessName)
	if err != nil {
		return err
	}
	role, err := schema.ParseRole(c.String("role"))
	if err != nil {
		return usagef(c, "--%v", err)
	}
	tenant, err := parsed(c, "tenant", schema.ParseTenant)
	if err != nil {
		return err
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	a := schema.Access{Name: name, Role: role, Tenant: tenant, By: operator()}
	token := ""
	err = s.recorded(c.Context, schema.Act{What: "access add", Tenant: tenant, Detail: name + " as " + string(role)},
		func(ctx context.Context) (_ string, err error) {
			token, err = access.NewStore(s.Tables, s.Names).Add(ctx, a)
			return "", err
		})
	if errors.Is(err, tables.ErrExists) {
		return fmt.Errorf("%w; furrow access rotate gives it a new token", err)
	}
	if token == "" {
		return err
	}
	a.Created = tables.TicksOf(time.Now())
	if err := errors.Join(err, printToken(c, a, token)); err != nil {
		return err
	}
	return noteNobodyActs(c, s, a)
}

// noteNobodyActs says that from now on everybody signs in and nobody can act, where that is so.
func noteNobodyActs(c *cli.Context, s *stores, a schema.Access) error {
	if a.Role != schema.Viewer {
		return nil
	}
	all, err := access.NewStore(s.Tables, s.Names).All(c.Context)
	if err != nil || slices.ContainsFunc(all, func(a schema.Access) bool { return a.Role != schema.Viewer }) {
		return err
	}
	_, err = io.WriteString(c.App.ErrWriter, "furrow: everybody signs in now, and nobody can acknowledge, mute or send "+
		"commands: all who have access are viewers. furrow access add NAME --role operator, or admin, lets somebody act.\n")
	return err
}

// printToken prints a new token when every dashboard takes it.
func printToken(c *cli.Context, a schema.Access, token string) error {
	setup.Pause(c.Context, access.Pause)
	line := accessLineOf(a)
	line.Token = token
	return printSecret(c, line, token, fmt.Sprintf("The token of %s, %s of %s. It is not shown again.\n"+
		"Sign in to the dashboard with it, or send it as Authorization: Bearer.\n", a.Name, a.Role, sight(a)))
}

func accessLineOf(a schema.Access) accessLine {
	return accessLine{Name: a.Name, Role: a.Role, Tenant: a.Tenant, By: a.By, Created: a.Created.Time()}
}

func sight(a schema.Access) string {
	if a.Tenant == "" {
		return "all tenants"
	}
	return "tenant " + string(a.Tenant)
}

func accessList(c *cli.Context) error {
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	all, err := access.NewStore(s.Tables, s.Names).All(c.Context)
	return answer(c, query.Mapped(query.Records(all, err), accessLineOf), func() (string, error) {
		return "nobody has access: furrow access add gives it", nil
	})
}

func accessRotate(c *cli.Context) error {
	return changeAccess(c, "access rotate", func(ctx context.Context, s access.Store, name string) error {
		token, a, err := s.Rotate(ctx, name)
		if err != nil {
			return err
		}
		return printToken(c, a, token)
	})
}

func accessRemove(c *cli.Context) error {
	return changeAccess(c, "access remove", func(ctx context.Context, s access.Store, name string) error {
		a, err := s.Remove(ctx, name)
		if err != nil {
			return err
		}
		return printLine(c, accessLineOf(a), fmt.Sprintf("%s has no access any more; open pages end within %s.", name,
			short(access.Recent)))
	})
}

// changeAccess changes the access of the named person, and records that.
func changeAccess(c *cli.Context, what string, change func(context.Context, access.Store, string) error) error {
	name, err := argument(c, 0, schema.ParseAccessName)
	if err != nil {
		return err
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	store := access.NewStore(s.Tables, s.Names)
	was, err := store.Get(c.Context, name)
	if errors.Is(err, access.ErrNone) {
		return noAccess(c.Context, store, name, err)
	}
	if err != nil {
		return err
	}
	return s.recorded(c.Context, schema.Act{What: what, Tenant: was.Tenant, Detail: name},
		func(ctx context.Context) (string, error) { return "", change(ctx, store, name) })
}

// noAccess adds similar names to an error about an unknown one.
func noAccess(ctx context.Context, s access.Store, name string, err error) error {
	all, _ := s.All(ctx) // only for advice
	var names []string
	for _, a := range all {
		names = append(names, a.Name)
	}
	return fmt.Errorf("%w%s", err, didYouMean(name, names, ""))
}
