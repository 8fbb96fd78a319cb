package azuretest

import (
	"net/http/httptest"
	"testing"

	"furrow/tables/local"
)

// Local starts the embedded server on a directory of its own, and stops it
// when the test is over.
func Local(t testing.TB) Account {
	t.Helper()
	s, err := local.Open(local.Config{Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })

	tables, queues, blobs := httptest.NewServer(s.Tables()), httptest.NewServer(s.Queues()), httptest.NewServer(s.Blobs())
	for _, h := range []*httptest.Server{tables, queues, blobs} {
		t.Cleanup(h.Close)
	}
	return Account{
		Name: s.Account(), Key: s.Key(), Kind: Embedded,
		TableURL: tables.URL + "/" + s.Account(),
		QueueURL: queues.URL + "/" + s.Account(),
		BlobURL:  blobs.URL + "/" + s.Account(),
	}
}
