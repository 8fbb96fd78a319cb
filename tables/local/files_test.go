package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

// TestSecretsAreWholeBesideOtherWriters: as two programs that start on one directory replace its certificate.
func TestSecretsAreWholeBesideOtherWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "tls.pem")
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			for range 20 {
				if err := local.WriteSecret(name, strings.Repeat(string(rune('a'+n)), 1000<<n)); err != nil {
					t.Error(err)
				}
				text, err := os.ReadFile(name)
				if err != nil || strings.Trim(string(text), string(text[:1])) != "" {
					t.Errorf("it is %d bytes of several writers, or cannot be read: %v", len(text), err)
				}
			}
		})
	}
	writers.Wait()
	if left := must.Have(os.ReadDir(dir))(t); len(left) != 1 {
		t.Errorf("files are left: %v", left)
	}
}
