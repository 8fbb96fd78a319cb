package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
)

// accountsFlags are storageFlags of a command that shows a fleet in several accounts as one.
func accountsFlags() []cli.Flag {
	flags := storageFlags()
	one := flags[0].(*cli.StringFlag)
	flags[0] = &cli.StringSliceFlag{Name: one.Name, Value: cli.NewStringSlice(one.Value), EnvVars: one.EnvVars,
		DefaultText: one.DefaultText, Usage: one.Usage + "; repeat it for a fleet in several accounts"}
	return flags
}

// storagesOf returns each --storage.
func storagesOf(c *cli.Context) []string {
	if several := c.StringSlice("storage"); len(several) > 0 {
		return several
	}
	return []string{c.String("storage")}
}

// accounts are those of a fleet. What cannot be read in one of several is said, and the others are shown.
type accounts struct {
	c      *cli.Context
	own    *setup.Embedded // which this process serves; may be nil
	where  []string
	failed map[int]bool
}

func accountsOf(c *cli.Context) (*accounts, error) {
	a := &accounts{c: c, where: storagesOf(c), failed: map[int]bool{}}
	for i, where := range a.where {
		if slices.Contains(a.where[:i], where) {
			return nil, usagef(c, "--storage %s is repeated", a.name(i))
		}
	}
	return a, nil
}

func (a *accounts) several() bool { return len(a.where) > 1 }

// name is how an account is called. It contains no secret.
func (a *accounts) name(i int) string {
	if where := a.where[i]; !namesSecret(where) {
		return where
	}
	return fmt.Sprintf("number %d", i+1)
}

// open opens an account.
func (a *accounts) open(i int, hooks ...roles.Hooks) (*stores, error) {
	return openStorageAt(a.c, a.own, a.where[i], "--storage", hooks...)
}

// missing says that an account cannot be read. It returns the error if there are no others, or if it is about the
// command line.
func (a *accounts) missing(i int, err error) error {
	if _, usage := errors.AsType[*usageError](err); err == nil || usage || !a.several() || a.c.Context.Err() != nil {
		return err
	}
	if a.failed[i] {
		return nil
	}
	a.failed[i] = true
	fmt.Fprintf(a.c.App.ErrWriter, "furrow: storage %s is left out: %v\n", a.name(i), withAuthorityAdvice(err))
	return nil
}

// complete returns an error if an account is missing in the answer.
func (a *accounts) complete() error {
	if len(a.failed) == 0 {
		return nil
	}
	return fmt.Errorf("the answer is incomplete: %d of %d accounts could not be read", len(a.failed), len(a.where))
}
