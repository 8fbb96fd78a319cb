package setup

import (
	"crypto/tls"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/crypto/acme"
)

// TestACMEServesNoOtherHost: an authority must not be asked for names of strangers. .ci/acme gets certificates.
func TestACMEServesNoOtherHost(t *testing.T) {
	t.Setenv(ACMEDirectory, "http://127.0.0.1:1/nobody-is-asked")
	dir := t.TempDir()
	served, err := ACME(dir, []string{"fleet.contoso.example"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "other.contoso.example", "127.0.0.1"} {
		if c, err := served.Config.GetCertificate(&tls.ClientHelloInfo{ServerName: name}); err == nil {
			t.Errorf("%q is served with %v", name, c.Leaf.Subject)
		}
	}
	if !slices.Contains(served.Config.NextProtos, acme.ALPNProto) || served.Config.MinVersion < tls.VersionTLS12 ||
		!served.End().IsZero() {
		t.Errorf("it offers %v from TLS %x, until %v", served.Config.NextProtos, served.Config.MinVersion, served.End())
	}
	if info, err := os.Stat(filepath.Join(dir, "acme")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("certificates are kept in %v, %v", info, err)
	}
}

func TestHostsThatNoAuthorityCertifiesAreRefused(t *testing.T) {
	for host, ok := range map[string]bool{"fleet.contoso.example": true, "localhost": false, "10.0.0.7": false,
		"*.contoso.example": false, "https://fleet.contoso.example": false, "fleet.contoso.example:443": false, "": false,
		"::1": false, "fleet.": false} {
		if err := CheckACMEHost(host); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
}
