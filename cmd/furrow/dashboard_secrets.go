package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/worker/dashboard"
)

// Environment variables for the secrets, if they are in no file.
const (
	passwordVariable = "FURROW_DASHBOARD_PASSWORD"
	tokenVariable    = "FURROW_DASHBOARD_TOKEN"
)

// secretFlags belong to every command that serves the dashboard.
func secretFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "password-file", Usage: "`FILE` with the password for browsers, with any user name; or set " +
			passwordVariable},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the bearer token for programs; or set " + tokenVariable},
	}
}

// readSecrets reads the secrets that the flags or the environment name.
func readSecrets(c *cli.Context) (s dashboard.Secrets, err error) {
	if s.Password, err = readSecret(c.String("password-file"), passwordVariable); err != nil {
		return s, err
	}
	if s.Token, err = readSecret(c.String("token-file"), tokenVariable); err != nil {
		return s, err
	}
	return s, s.Check()
}

// readSecret reads a file, or else a variable.
func readSecret(file, variable string) (string, error) {
	if file == "" {
		return strings.TrimSpace(os.Getenv(variable)), nil
	}
	secret, err := setup.ReadSecret(file)
	if err == nil && secret == "" {
		err = fmt.Errorf("%s is empty; 'openssl rand -base64 18 > %s' creates a secret", file, file)
	}
	return secret, err
}
