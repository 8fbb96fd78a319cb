package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables"
	"furrow/tables/local"
)

// A screen is what storage says when it has started. Its JSON is for scripts:
// a field may be added, none changes.
type screen struct {
	Account          string     `json:"account"`
	Blob             string     `json:"blob"`
	Queue            string     `json:"queue"`
	Table            string     `json:"table"`
	Data             string     `json:"data"`
	KeyFile          string     `json:"keyFile"`
	ConnectionString string     `json:"connectionString,omitempty"` // only with --show-key
	TLS              *tlsScreen `json:"tls,omitempty"`

	where tables.Account // without the key
}

type tlsScreen struct {
	Fingerprint   string `json:"sha256"`             // of the server's certificate
	CAFile        string `json:"caFile,omitempty"`   // absent when the certificate was given
	CAFingerprint string `json:"caSha256,omitempty"` //
}

// announce prints the screen, and warns of what others can overhear.
func announce(c *cli.Context, server *local.Server, l local.Listeners, dir string, g serverTLS) error {
	s := screen{
		Account: server.Account(), Data: dir, KeyFile: filepath.Join(dir, local.KeyFile),
		where: setup.PathStyle(g.scheme(), server.Account(), "", reach(l.Blob), reach(l.Queue), reach(l.Table)),
	}
	s.Blob, s.Queue, s.Table = s.where.Blob, s.where.Queue, s.where.Table
	if c.Bool("show-key") {
		withKey := s.where
		withKey.Key = server.Key()
		s.ConnectionString = setup.ConnectionString(withKey)
	}
	if g.TLS != nil {
		s.TLS = &tlsScreen{g.Fingerprint, g.CAFile, g.CAFingerprint}
	}
	if g.TLS == nil && exposed(l.Table) {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s can be reached from other machines, without TLS: whoever listens on the "+
			"way can read tokens and readings. Use --tls self-signed, or listen on 127.0.0.1.\n", l.Table.Addr())
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(s)
	}
	_, err := io.WriteString(c.App.Writer, s.text())
	return err
}

func (s screen) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Storage account %q\n\n", s.Account)
	for _, line := range [][2]string{
		{"blobs", s.Blob}, {"queues", s.Queue}, {"tables", s.Table}, {"data", s.Data}, {"key", s.KeyFile},
	} {
		fmt.Fprintf(&b, "  %-8s%s\n", line[0], line[1])
	}
	if t := s.TLS; t != nil {
		fmt.Fprintf(&b, "\nTLS certificate, SHA-256\n  %s\n", t.Fingerprint)
		if t.CAFile != "" {
			fmt.Fprintf(&b, "Clients have to trust %s, SHA-256\n  %s\n", t.CAFile, t.CAFingerprint)
		}
	}
	if s.ConnectionString != "" {
		fmt.Fprintf(&b, "\nConnection string\n  %s\n", s.ConnectionString)
	} else {
		c := s.where
		c.Key = "$(cat " + quoted(s.KeyFile) + ")"
		fmt.Fprintf(&b, "\nConnection string, for a shell that can read the key (--show-key prints it in full)\n  export "+
			"AZURE_STORAGE_CONNECTION_STRING=\"%s\"\n", setup.ConnectionString(c))
	}
	b.WriteString("\nStop it with Ctrl-C.\n")
	return b.String()
}

// here is the account as commands on this machine reach it, with the key.
func here(server *local.Server, l local.Listeners, g serverTLS) tables.Account {
	return setup.PathStyle(g.scheme(), server.Account(), server.Key(), near(l.Blob), near(l.Queue), near(l.Table))
}

// near is the host:port for this machine: of a listener on every address, loopback.
func near(l net.Listener) string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(at.Port))
}

// quoted is a word for a POSIX shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reach is the host:port for clients: of a listener on every address, the first
// that other machines can use.
func reach(l net.Listener) string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return l.Addr().String()
	}
	host := "127.0.0.1"
	if others := setup.Addresses(); len(others) > 0 {
		host = others[0].String()
	}
	return net.JoinHostPort(host, fmt.Sprint(at.Port))
}
