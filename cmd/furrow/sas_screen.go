package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"
)

// A tokenScreen is printed when sas has started. Its JSON is for scripts: fields may be added,
// but none changes.
type tokenScreen struct {
	Endpoint  string     `json:"endpoint"` // URL for devices
	Table     string     `json:"table"`    // URL of the Table service that they are given
	Account   string     `json:"account"`
	Storage   string     `json:"storage"`   // URL of the Table service that the endpoint uses
	MasterKey string     `json:"masterKey"` // its source, never the key
	TLS       *tlsScreen `json:"tls,omitempty"`
}

// screen describes an endpoint that devices reach by a URL.
func (o *tokenService) screen(url string, g serverTLS) tokenScreen {
	s := tokenScreen{Endpoint: url, Account: o.Account.Name, Storage: o.Account.Table, MasterKey: o.master,
		Table: o.Issuer.URL}
	if g.TLS != nil {
		s.TLS = &tlsScreen{g.Fingerprint, g.CAFile, g.CAFingerprint}
	}
	return s
}

// warn warns of a Table service that devices cannot reach.
func (s tokenScreen) warn(c *cli.Context, l net.Listener) {
	if exposed(l) && onLoopback(s.Table) {
		fmt.Fprintf(c.App.ErrWriter, "warning: devices on other machines are told to write to %s, which they cannot reach: "+
			"set --table-url to the Table service as they reach it.\n", s.Table)
	}
}

// announce prints the screen.
func (o *tokenService) announce(c *cli.Context, l net.Listener, g serverTLS) error {
	s := o.screen(g.scheme()+"://"+reach(l), g)
	s.warn(c, l)
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(s)
	}
	_, err := io.WriteString(c.App.Writer, s.text())
	return err
}

func (s tokenScreen) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Token endpoint of storage account %q\n\n", s.Account)
	for _, line := range [][2]string{
		{"endpoint", s.Endpoint}, {"tables", s.Table + " (as devices are told)"}, {"storage", s.Storage}, {"master",
			s.MasterKey},
	} {
		fmt.Fprintf(&b, "  %-10s%s\n", line[0], line[1])
	}
	b.WriteString(s.TLS.forDevices())
	b.WriteString("\nStop it with Ctrl-C.\n")
	return b.String()
}

// forDevices describes the certificates to devices' operators.
func (t *tlsScreen) forDevices() string {
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("\nTLS certificate, SHA-256\n  %s\n", t.Fingerprint)
	if t.CAFile != "" {
		text += fmt.Sprintf("Devices have to trust %s, SHA-256\n  %s\n", t.CAFile, t.CAFingerprint)
	}
	return text
}

// onLoopback reports whether a URL is on this machine's loopback.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
