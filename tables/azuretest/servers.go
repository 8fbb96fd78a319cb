package azuretest

import (
	"fmt"
	"os"
	"testing"
)

// FromEnv returns the account that the environment names: FURROW_TEST_STORAGE is its
// connection string, FURROW_TEST_STORAGE_KIND is azurite or azure. If neither is set
// it returns Local.
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
	if a, err = ParseConnectionString(conn); err != nil {
		return Account{}, false, fmt.Errorf("FURROW_TEST_STORAGE: %w", err)
	}
	a.Kind = kind
	return a, true, nil
}
