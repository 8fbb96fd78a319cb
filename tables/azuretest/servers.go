package azuretest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	storage "furrow/tables"
)

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
