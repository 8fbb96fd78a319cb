package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"furrow/tables"
	"furrow/tables/local"
)

// PathStyle returns an account whose name is in the path of URLs, as on local storage and Azurite. The addresses are
// host:port.
func PathStyle(scheme, account, key, blob, queue, table string) tables.Account {
	at := func(address string) string { return scheme + "://" + address + "/" + account }
	return tables.Account{Name: account, Key: key, Blob: at(blob), Queue: at(queue), Table: at(table)}
}

// ConnectionString formats an account with its key.
func ConnectionString(a tables.Account) string {
	return local.ConnectionString(a.Name, a.Key, a.Blob, a.Queue, a.Table)
}

// endpointFile, in a data directory, contains the URL of the token endpoint.
const endpointFile = "endpoint"

// WriteEndpoint stores the URL of the token endpoint in a data directory.
func WriteEndpoint(dir, url string) error {
	return local.WriteSecret(filepath.Join(dir, endpointFile), url+"\n")
}

// Endpoint returns the URL that was stored last, if any.
func Endpoint(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, endpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Authority returns the certificate file of a data directory's own authority, if it has one.
func Authority(dir string) string {
	file := filepath.Join(dir, TLSFolder, "ca.pem")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// Exposed reports whether other machines can reach a listener.
func Exposed(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	return ok && !at.IP.IsLoopback()
}

// Local returns the host:port of a listener for this machine.
func Local(l net.Listener) string { return addressWith(l, "127.0.0.1") }

// Public returns the host:port of a listener for clients. If it listens on all addresses, that is the first
// one that other machines can use.
func Public(l net.Listener) string {
	host := "127.0.0.1"
	if others := Addresses(); len(others) > 0 {
		host = others[0].String()
	}
	return addressWith(l, host)
}

// addressWith returns the address of a listener, with host if it listens on all addresses.
func addressWith(l net.Listener, host string) string {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return net.JoinHostPort(host, fmt.Sprint(at.Port))
}

// OnLoopback reports whether a URL is on this machine's loopback.
func OnLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
