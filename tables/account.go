package tables

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// An Account is a storage account and its credential: a key, a SAS or, with neither, an
// Entra credential.
type Account struct {
	Name  string
	Key   string // base64
	SAS   string // a query, without its question mark
	Table string // URL of the Table service, without a slash at the end
	Queue string // URL of the Queue service; empty if only that of Table is known
	Blob  string // URL of the Blob service; empty if only that of Table is known
}

// String returns the account without its credential, so that no log contains a key.
func (a Account) String() string { return a.Name + " at " + a.Table }

// PathStyle reports whether the account's name is in the path of its URL, as with local
// storage and emulators. With Azure it is in the host name.
func (a Account) PathStyle() bool {
	u, err := url.Parse(a.Table)
	return err == nil && strings.Trim(u.Path, "/") != ""
}

// The account of storage emulators.
// learn.microsoft.com: "Use the Azurite emulator", Well-known storage account and key.
const (
	emulatorName = "devstoreaccount1"
	emulatorKey  = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// ParseAccount parses a connection string, the URL of a Table service, or a URL with a SAS
// (of the service or of one table). Its errors contain no secrets.
func ParseAccount(s string) (Account, error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return parseServiceURL(s)
	}
	a, err := parseConnectionString(s)
	if err != nil {
		return Account{}, fmt.Errorf("connection string: %w", err)
	}
	return a, nil
}

func parseConnectionString(s string) (Account, error) {
	parts, err := connectionParts(s)
	if err != nil {
		return Account{}, err
	}
	if strings.EqualFold(parts["usedevelopmentstorage"], "true") {
		const host = "http://127.0.0.1"
		return Account{Name: emulatorName, Key: emulatorKey, Blob: host + ":10000/" + emulatorName,
			Queue: host + ":10001/" + emulatorName, Table: host + ":10002/" + emulatorName}, nil
	}
	a := Account{
		Name: parts["accountname"], Key: parts["accountkey"], SAS: strings.TrimPrefix(parts["sharedaccesssignature"], "?"),
		Table: parts["tableendpoint"], Queue: parts["queueendpoint"], Blob: parts["blobendpoint"],
	}
	switch {
	case a.Key == "" && a.SAS == "" && a.Table == "": // with endpoints alone, an Entra credential signs in
		return Account{}, errors.New("it has neither AccountKey nor SharedAccessSignature nor TableEndpoint; copy it whole " +
			"from the account's access keys")
	case a.Key != "" && a.Name == "":
		return Account{}, errors.New("it has an AccountKey but no AccountName")
	case a.Name == "" && a.Table == "":
		return Account{}, errors.New("it has neither AccountName nor TableEndpoint")
	}
	a.fillEndpoints(parts["defaultendpointsprotocol"], parts["endpointsuffix"])
	for _, endpoint := range []*string{&a.Table, &a.Queue, &a.Blob} {
		u, err := serviceURL(*endpoint)
		if err != nil && *endpoint != "" {
			return Account{}, err
		}
		*endpoint = strings.TrimRight(u.String(), "/")
	}
	if a.Name == "" {
		u, _ := url.Parse(a.Table)
		a.Name = accountName(u)
	}
	return a, nil
}

// connectionParts returns the parts by their names in lower case.
func connectionParts(s string) (map[string]string, error) {
	if s == "" {
		return nil, errors.New("it is empty; give a connection string, or the URL of a Table service")
	}
	parts := map[string]string{}
	for i, part := range strings.Split(strings.TrimRight(s, "; "), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("part %d has no = sign; want Name=value;Name=value, such as "+
				"DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…", i+1)
		}
		parts[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return parts, nil
}

// fillEndpoints sets the missing endpoints to Azure's public ones. It sets none if the
// Table endpoint is given, because the account is then somewhere else.
func (a *Account) fillEndpoints(scheme, suffix string) {
	if a.Table != "" {
		return
	}
	scheme, suffix = cmp.Or(scheme, "https"), cmp.Or(suffix, "core.windows.net")
	for service, endpoint := range map[string]*string{"table": &a.Table, "queue": &a.Queue, "blob": &a.Blob} {
		if *endpoint == "" {
			*endpoint = scheme + "://" + a.Name + "." + service + "." + suffix
		}
	}
}

// serviceURL parses the URL of a service.
func serviceURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return &url.URL{}, errors.New("an endpoint is not a URL; want one such as https://account.table.core.windows.net")
	}
	return u, nil
}

func parseServiceURL(s string) (Account, error) {
	u, err := serviceURL(s)
	if err != nil {
		return Account{}, fmt.Errorf("storage URL: %w", err)
	}
	query := u.Query()
	if u.RawQuery != "" && query.Get("sig") == "" {
		return Account{}, errors.New("storage URL: its query is not a SAS, because it has no sig")
	}
	a := Account{SAS: u.RawQuery, Name: accountName(u)}
	u.RawQuery = ""
	if table := query.Get("tn"); table != "" && strings.EqualFold(lastSegment(u.Path), table) {
		u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), lastSegment(u.Path))
	}
	a.Table = strings.TrimRight(u.String(), "/")
	if account, rest, ok := strings.Cut(u.Host, ".table."); ok {
		a.Queue = u.Scheme + "://" + account + ".queue." + rest
		a.Blob = u.Scheme + "://" + account + ".blob." + rest
	}
	return a, nil
}

func lastSegment(path string) string {
	path = strings.TrimSuffix(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// accountName returns the first label of the host name or, for an IP address or a name
// without dots, the first segment of the path.
func accountName(u *url.URL) string {
	host := u.Hostname()
	if first, _, dotted := strings.Cut(host, "."); dotted && net.ParseIP(host) == nil {
		return first
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return first
}

// IsLoopback reports whether a host is this machine: localhost, or an address of the loopback interface.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
