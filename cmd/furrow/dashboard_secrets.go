package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/worker/dashboard"
)

// Where the secrets of a dashboard are, if they are in no file.
const (
	passwordVariable = "FURROW_DASHBOARD_PASSWORD"
	tokenVariable    = "FURROW_DASHBOARD_TOKEN"
)

// secretFlags are those of every command that shows pages.
func secretFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "password-file", Usage: "`FILE` with the password for browsers, with any user name; or set " +
			passwordVariable},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the bearer token for programs; or set " + tokenVariable},
	}
}

// readSecrets finds the secrets that the flags or the environment name.
func readSecrets(c *cli.Context) (s dashboard.Secrets, err error) {
	if s.Password, err = readSecret(c.String("password-file"), passwordVariable); err != nil {
		return s, err
	}
	if s.Token, err = readSecret(c.String("token-file"), tokenVariable); err != nil {
		return s, err
	}
	return s, s.Check()
}

// readSecret is what a file holds, or else a variable.
func readSecret(file, variable string) (string, error) {
	if file == "" {
		return strings.TrimSpace(os.Getenv(variable)), nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" { // which has no such modes
		return "", fmt.Errorf("%s: others than its owner may read the secret in it, as its mode is %04o: chmod 600 %s", file,
			mode, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", fmt.Errorf("%s is empty; openssl rand -base64 18 > %s makes a secret", file, file)
	}
	return secret, nil
}
