package setup

import (
	"encoding/base64"
	"errors"

	"furrow/tables"
	"furrow/tables/local"
)

// AccountWithKey parses a connection string with an account key. It refuses one with a shared access signature, which
// cannot sign. If the string names only the Table service, the other URLs are empty.
func AccountWithKey(text string) (tables.Account, error) {
	a, err := tables.ParseAccount(text)
	if err != nil {
		return tables.Account{}, err
	}
	if key, err := base64.StdEncoding.DecodeString(a.Key); err != nil || len(key) == 0 {
		return tables.Account{}, errors.New("connection string: an AccountKey in base64 is needed; copy it whole from the " +
			"account's access keys")
	}
	return a, nil
}

// PathStyle returns an account whose name is in the path of URLs, as on local storage and Azurite. The addresses are
// host:port.
func PathStyle(scheme, account, key, blob, queue, table string) tables.Account {
	at := func(address string) string { return scheme + "://" + address + "/" + account }
	return tables.Account{Name: account, Key: key, Blob: at(blob), Queue: at(queue), Table: at(table)}
}

// ConnectionString formats an account with its key for [AccountWithKey].
func ConnectionString(a tables.Account) string {
	return local.ConnectionString(a.Name, a.Key, a.Blob, a.Queue, a.Table)
}
