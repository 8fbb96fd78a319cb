package azuretest

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	storage "furrow/tables"
	"furrow/tables/local"

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

	Kind      Kind               // zero: no known differences
	Transport policy.Transporter // of every client; zero: the SDKs' default
	Clock     *Clock             `json:"-"` // of the server; nil: time passes by itself
}

// A Clock is the time of an embedded server. It can be advanced.
type Clock struct{ ahead atomic.Int64 }

func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *Clock) Advance(by time.Duration) { c.ahead.Add(int64(by)) }

// ConnectionString returns the account's connection string. It contains the key.
func (a Account) ConnectionString() string {
	return local.ConnectionString(a.Name, a.Key, a.BlobURL, a.QueueURL, a.TableURL)
}

// Local starts the embedded server, with its data in memory: a test of what a disk
// keeps opens a directory itself. It stops when the test ends.
func Local(t testing.TB) Account {
	t.Helper()
	clock := &Clock{}
	s := value(local.Start(local.Config{Dir: t.TempDir(), Memory: true, Now: clock.Now}))(t)
	end := answerDirectly(s)
	t.Cleanup(func() {
		end()
		must(t, s.Close())
	})
	return Account{Name: s.Account(), Key: s.Key(), Kind: Embedded,
		TableURL: s.TableURL, QueueURL: s.QueueURL, BlobURL: s.BlobURL, Clock: clock}
}

// FromEnv returns the account with the connection string FURROW_TEST_STORAGE and the
// kind FURROW_TEST_STORAGE_KIND, which is azurite or azure. If neither is set it returns
// Local.
func FromEnv(t testing.TB) Account {
	t.Helper()
	a, ok, err := fromEnv(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return Local(t)
	}
	return a
}

func fromEnv(getenv func(string) string) (a Account, ok bool, err error) {
	conn, kind := getenv("FURROW_TEST_STORAGE"), Kind(getenv("FURROW_TEST_STORAGE_KIND"))
	if conn == "" && kind == "" {
		return Account{}, false, nil
	}
	if kind != Azurite && kind != Azure {
		return Account{}, false, fmt.Errorf("FURROW_TEST_STORAGE_KIND is %q: set it to azurite or azure", kind)
	}
	parsed, err := storage.ParseAccount(conn)
	if err == nil && parsed.Key == "" {
		err = errors.New("it has no AccountKey")
	}
	if err != nil {
		return Account{}, false, fmt.Errorf("FURROW_TEST_STORAGE: %w", err)
	}
	return Account{Name: parsed.Name, Key: parsed.Key, Kind: kind,
		TableURL: parsed.Table, QueueURL: parsed.Queue, BlobURL: parsed.Blob}, true, nil
}
