package setup

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A Connection is a storage account as a connection string names it: where its
// three services are, and the key that opens them.
//
// See https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string.
type Connection struct {
	Account string
	Key     string // base64
	Blob    string // URL without a trailing slash; path-style endpoints end in the account's name
	Queue   string
	Table   string
}

// Azurite's well-known account, which UseDevelopmentStorage=true stands for.
const (
	developmentAccount = "devstoreaccount1"
	developmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// ParseConnection reads a connection string with an account key. Endpoints that
// it leaves out are Azure's. A connection string with a shared access signature
// is refused: nothing can be signed with it.
func ParseConnection(text string) (Connection, error) {
	fields, err := splitConnection(text)
	if err != nil {
		return Connection{}, err
	}
	if strings.EqualFold(fields["usedevelopmentstorage"], "true") {
		return PathStyle("http", developmentAccount, developmentKey, "127.0.0.1:10000", "127.0.0.1:10001", "127.0.0.1:10002"), nil
	}
	if fields["sharedaccesssignature"] != "" {
		return Connection{}, errors.New("the connection string holds a shared access signature; one with an AccountKey is needed")
	}
	c := Connection{Account: fields["accountname"], Key: fields["accountkey"]}
	if c.Account == "" {
		return Connection{}, errors.New("the connection string has no AccountName")
	}
	if key, err := base64.StdEncoding.DecodeString(c.Key); err != nil || len(key) == 0 {
		return Connection{}, errors.New("the connection string's AccountKey is missing or not base64")
	}
	for service, endpoint := range map[string]*string{"blob": &c.Blob, "queue": &c.Queue, "table": &c.Table} {
		if *endpoint, err = endpointOf(service, c.Account, fields); err != nil {
			return Connection{}, err
		}
	}
	return c, nil
}

// PathStyle is the connection to a server that finds the account in the path,
// as local storage and Azurite do. The addresses are host:port.
func PathStyle(scheme, account, key, blob, queue, table string) Connection {
	at := func(address string) string { return scheme + "://" + address + "/" + account }
	return Connection{Account: account, Key: key, Blob: at(blob), Queue: at(queue), Table: at(table)}
}

// String is the connection string that [ParseConnection] reads back. It holds the key.
func (c Connection) String() string {
	scheme, _, _ := strings.Cut(c.Table, ":")
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;TableEndpoint=%s;",
		scheme, c.Account, c.Key, c.Blob, c.Queue, c.Table)
}

// splitConnection returns the fields by their lower-case names: Azure's own
// clients do not heed the case.
func splitConnection(text string) (map[string]string, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no connection string: it is a list of Name=Value, separated by semicolons", redacted(part))
		}
		fields[strings.ToLower(name)] = value
	}
	return fields, nil
}

// redacted shortens what may be a key pasted in the wrong place.
func redacted(part string) string {
	if len(part) > 12 {
		return part[:8] + "…"
	}
	return part
}

func endpointOf(service, account string, fields map[string]string) (string, error) {
	endpoint := fields[service+"endpoint"]
	if endpoint == "" {
		scheme, suffix := fields["defaultendpointsprotocol"], fields["endpointsuffix"]
		if scheme == "" {
			scheme = "https"
		}
		if suffix == "" {
			suffix = "core.windows.net"
		}
		endpoint = fmt.Sprintf("%s://%s.%s.%s", scheme, account, service, suffix)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the %s endpoint %q is no http or https URL", service, endpoint)
	}
	return strings.TrimSuffix(endpoint, "/"), nil
}
