package azuretest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Kind says what answers for an account, and so which known differences from
// Azure are expected of it.
type Kind string

const (
	Embedded Kind = "embedded" // our own server, tables/local
	Azurite  Kind = "azurite"  // Microsoft's emulator
	Azure    Kind = "azure"    // a real account
)

// An Account is a storage account that tests may fill: three services under
// one name and one key.
type Account struct {
	Name string
	Key  string // base64, as the portal shows it

	TableURL, QueueURL, BlobURL string // of the services, without a slash at the end

	Kind      Kind               // zero: held to everything, like Embedded
	Transport policy.Transporter // carries the requests of every client; zero: the SDKs' own
}

// developmentStorage is what UseDevelopmentStorage=true abbreviates: the
// account name, key and ports that Microsoft publishes for its emulators.
// https://learn.microsoft.com/azure/storage/common/storage-use-azurite
const developmentStorage = "AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;" +
	"QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;" +
	"TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"

// ParseConnectionString reads a storage account's connection string, in the
// forms that the portal and the emulators' manuals give. It leaves Kind empty.
func ParseConnectionString(s string) (Account, error) {
	fields, err := connectionFields(s)
	if err != nil {
		return Account{}, err
	}
	if strings.EqualFold(fields["usedevelopmentstorage"], "true") {
		return ParseConnectionString(developmentStorage)
	}
	a := Account{Name: fields["accountname"], Key: fields["accountkey"]}
	if a.Name == "" || a.Key == "" {
		return Account{}, fmt.Errorf("connection string: AccountName and AccountKey are both needed")
	}
	if _, err := base64.StdEncoding.DecodeString(a.Key); err != nil {
		return Account{}, fmt.Errorf("connection string: AccountKey is not base64: %w", err)
	}
	a.TableURL = endpoint(fields, a.Name, "table")
	a.QueueURL = endpoint(fields, a.Name, "queue")
	a.BlobURL = endpoint(fields, a.Name, "blob")
	return a, nil
}

// connectionFields splits "Name=value;…". Keys are matched without regard to
// case, as the SDKs do. A value may itself hold "=": base64 ends so.
func connectionFields(s string) (map[string]string, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("connection string: a part of %d characters has no '='", len(part)) // the part may be a key
		}
		fields[strings.ToLower(k)] = v
	}
	return fields, nil
}

func endpoint(fields map[string]string, account, service string) string {
	if url := fields[service+"endpoint"]; url != "" {
		return strings.TrimSuffix(url, "/")
	}
	return fmt.Sprintf("%s://%s.%s.%s", cmp.Or(fields["defaultendpointsprotocol"], "https"), account, service,
		cmp.Or(fields["endpointsuffix"], "core.windows.net"))
}

// ConnectionString is the account as ParseConnectionString, the SDKs and
// Microsoft's tools read it. It holds the key.
func (a Account) ConnectionString() string {
	return fmt.Sprintf("AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;TableEndpoint=%s",
		a.Name, a.Key, a.BlobURL, a.QueueURL, a.TableURL)
}
