package azuretest

import (
	"testing"

	"furrow/tables/local"
)

// Local starts the embedded server on a temporary directory. It stops when the
// test ends.
func Local(t testing.TB) Account {
	t.Helper()
	s := value(local.Start(local.Config{Dir: t.TempDir()}))(t)
	t.Cleanup(func() { must(t, s.Close()) })
	return Account{Name: s.Account(), Key: s.Key(), Kind: Embedded,
		TableURL: s.TableURL, QueueURL: s.QueueURL, BlobURL: s.BlobURL}
}
