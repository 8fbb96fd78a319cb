package main

import (
	"fmt"
	"net/netip"
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
		&cli.StringFlag{Name: "password-file", Usage: "`FILE` with the password for browsers, with any user name, read " +
			"again when it changes; or set " + passwordVariable},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE` with the bearer token for programs, read again when it changes; " +
			"or set " + tokenVariable},
		&cli.StringFlag{Name: "trust-header", Usage: "`HEADER` in which --trust-proxy gives the name of whoever it has " +
			"signed in, as given to furrow access add; the proxy must remove it from requests"},
		&cli.StringSliceFlag{Name: "trust-proxy", Usage: "`ADDR` or network of a proxy whose --trust-header and " +
			"X-Forwarded-For are believed, such as 10.0.0.7 or 10.0.0.0/24; repeat it for several"},
	}
}

// readAdmission reads the flags that say who is let in.
func readAdmission(c *cli.Context) (d dashboard.Config, err error) {
	if d.Secrets, err = readSecrets(c); err != nil {
		return d, err
	}
	if c.String("password-file") != "" || c.String("token-file") != "" {
		d.Reread = func() (dashboard.Secrets, error) { return readSecrets(c) }
	}
	d.TrustHeader = c.String("trust-header")
	proxies := c.StringSlice("trust-proxy")
	if d.TrustHeader != "" && len(proxies) == 0 {
		return d, usagef(c, "--trust-header needs --trust-proxy: anybody else could send the header")
	}
	for _, text := range proxies {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			ip, errIP := netip.ParseAddr(text)
			if errIP != nil {
				return d, usagef(c, "--trust-proxy %s is no address and no network such as 10.0.0.0/24", text)
			}
			network = netip.PrefixFrom(ip, ip.BitLen())
		}
		d.Proxies = append(d.Proxies, network.Masked())
	}
	return d, nil
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
