package main

import (
	"crypto/tls"
	"log/slog"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// The words that --tls takes besides two files.
const (
	tlsOff        = "off"
	tlsSelfSigned = "self-signed"
)

// A serverTLS is the TLS of a server, or none: its zero value is plain HTTP.
type serverTLS struct{ *setup.TLS }

// checkTLS refuses a --tls that protection could not read, before anything is
// opened or made.
func checkTLS(c *cli.Context) error {
	flag := c.String("tls")
	if flag == tlsOff || flag == tlsSelfSigned || len(words(flag)) == 2 {
		return nil
	}
	return usagef(c, "--tls is %q; it takes %s, %s, or CERT,KEY", flag, tlsOff, tlsSelfSigned)
}

// protection does what --tls says. It makes what a self-signed server needs.
func protection(c *cli.Context, dir string, log *slog.Logger) (serverTLS, error) {
	switch flag := c.String("tls"); flag {
	case tlsOff:
		return serverTLS{}, nil
	case tlsSelfSigned:
		hosts, err := setup.Hosts(c.String("listen"))
		if err != nil {
			return serverTLS{}, err
		}
		made, err := setup.SelfSigned(filepath.Join(dir, "tls"), hosts, log)
		return serverTLS{made}, err
	default:
		files := words(flag)
		loaded, err := setup.Files(files[0], files[1], log)
		return serverTLS{loaded}, err
	}
}

func (g serverTLS) scheme() string {
	if g.TLS == nil {
		return "http"
	}
	return "https"
}

func (g serverTLS) protect(l local.Listeners) local.Listeners {
	if g.TLS == nil {
		return l
	}
	return local.Listeners{
		Blob:  tls.NewListener(l.Blob, g.Config),
		Queue: tls.NewListener(l.Queue, g.Config),
		Table: tls.NewListener(l.Table, g.Config),
	}
}
