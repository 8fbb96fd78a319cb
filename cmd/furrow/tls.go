package main

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

// The words that --tls takes instead of two files.
const (
	tlsOff        = "off"
	tlsSelfSigned = "self-signed"
	tlsACME       = "acme:" // and names of hosts
)

// checkTLS checks --tls before anything is opened or created.
func checkTLS(c *cli.Context) error {
	flag := c.String("tls")
	if hosts, is := strings.CutPrefix(flag, tlsACME); is {
		for _, host := range words(hosts) {
			if err := setup.CheckACMEHost(host); err != nil {
				return usagef(c, "--tls: %v", err)
			}
		}
		if len(words(hosts)) > 0 {
			return nil
		}
	}
	if flag == tlsOff || flag == tlsSelfSigned || len(words(flag)) == 2 {
		return nil
	}
	return usagef(c, "--tls is %q; it takes %s, %s, acme:HOST, or CERT,KEY", flag, tlsOff, tlsSelfSigned)
}

// openTLS loads the certificate that --tls names, or creates one in dir. Off is nil.
func openTLS(c *cli.Context, dir string, log *slog.Logger) (*setup.TLS, error) {
	flag := c.String("tls")
	if hosts, is := strings.CutPrefix(flag, tlsACME); is {
		return setup.ACME(filepath.Join(dir, "tls"), words(hosts), log)
	}
	switch flag {
	case tlsOff:
		return nil, nil
	case tlsSelfSigned:
		hosts, err := setup.Hosts(c.String("listen"))
		if err != nil {
			return nil, err
		}
		return setup.SelfSigned(filepath.Join(dir, setup.TLSFolder), hosts, log)
	default:
		files := words(flag)
		return setup.Files(files[0], files[1], log)
	}
}

// listenProtected listens on the address of a flag. On one that other machines can reach it requires TLS or a proxy.
func listenProtected(c *cli.Context, flag, address string, protected bool) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, listenAdvice(err, "--"+flag)
	}
	if protected || !setup.Exposed(l) || c.Bool("behind-proxy") {
		return l, nil
	}
	err = usagef(c, "--%s %s can be reached from other machines, and without TLS passwords and tokens could be "+
		"intercepted: use --tls self-signed or --tls CERT,KEY, or listen on 127.0.0.1, or use --behind-proxy if a proxy "+
		"in front of it terminates TLS", flag, address)
	return nil, errors.Join(err, l.Close())
}

// tlsDirectory is the directory for self-signed certificates. With local storage it is shared with storage, so
// that devices need to trust only one authority.
func tlsDirectory(c *cli.Context) string {
	if dir := namedStorage(c); setup.IsDirectory(dir) { // up creates it later
		return dir
	}
	return defaultStorage
}
