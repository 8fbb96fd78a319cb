package azuretest

import (
	"fmt"

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

	Kind      Kind               // zero: no differences, as for Embedded
	Transport policy.Transporter // of every client; zero: the SDKs' default
}

// ConnectionString returns the account's connection string. It contains the key.
func (a Account) ConnectionString() string {
	return fmt.Sprintf("AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;TableEndpoint=%s",
		a.Name, a.Key, a.BlobURL, a.QueueURL, a.TableURL)
}
