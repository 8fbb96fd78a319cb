package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/tables"
)

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
