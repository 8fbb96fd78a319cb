package setup

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"furrow/tables"
)

// AccountWithKey reads a connection string that holds the account's key. One with
// a shared access signature is refused: nothing can be signed with it. Where it
// names the Table service alone, the other two are empty.
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

// PathStyle is an account on a server that finds its name in the path, as local
// storage and Azurite do. The addresses are host:port.
func PathStyle(scheme, account, key, blob, queue, table string) tables.Account {
	at := func(address string) string { return scheme + "://" + address + "/" + account }
	return tables.Account{Name: account, Key: key, Blob: at(blob), Queue: at(queue), Table: at(table)}
}

// ConnectionString is what [AccountWithKey] reads back, and what SDKs and
// Microsoft's tools read. It holds the key.
func ConnectionString(a tables.Account) string {
	scheme, _, _ := strings.Cut(a.Table, ":")
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;QueueEndpoint=%s;"+
		"TableEndpoint=%s;",
		scheme, a.Name, a.Key, a.Blob, a.Queue, a.Table)
}
