package azuretest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Kind is the kind of server behind an account. It determines which known
// differences from Azure are expected.
type Kind string

const (
	Embedded Kind = "embedded" // the server in tables/local
	Azurite  Kind = "azurite"  // Microsoft's emulator
	Azure    Kind = "azure"    // a real account
)

// An Account is a storage account that tests may write to.
type Account struct {
	Name string
	Key  string // base64, as the portal shows it

	TableURL, QueueURL, BlobURL string // without a slash at the end

	Kind      Kind               // zero: like Embedded, no differences
	Transport policy.Transporter // of every client; zero: that of the SDKs
}

// developmentStorage is the meaning of UseDevelopmentStorage=true: the account name,
// key and ports that Microsoft publishes for its emulators.
// https://learn.microsoft.com/azure/storage/common/storage-use-azurite
const developmentStorage = "AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;" +
	"QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;" +
	"TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"

// ParseConnectionString parses a storage account's connection string, in the forms of
// the portal and of the emulators' documentation. It leaves Kind empty.
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

// connectionFields splits "Name=value;…". The case of names is ignored, as in the
// SDKs. A value may contain "=", as base64 does.
func connectionFields(s string) (map[string]string, error) {
	fields := map[string]string{}
	for part := range strings.SplitSeq(s, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("connection string: a part of %d characters has no '='",
				len(part)) // the part may be a key
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

// ConnectionString returns the account's connection string. It contains the key.
func (a Account) ConnectionString() string {
	return fmt.Sprintf("AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;TableEndpoint=%s",
		a.Name, a.Key, a.BlobURL, a.QueueURL, a.TableURL)
}
