package device_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"furrow/sas/device"
)

// certified serves the endpoint of f over TLS, with a certificate for some time.
func certified(t *testing.T, f *fixture, from, to time.Time) (url, caFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "endpoint"}, NotBefore: from,
		NotAfter:    to,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		resp := f.issue(r, time.Now())
		rw.WriteHeader(resp.StatusCode)
		io.Copy(rw, resp.Body)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, caFile
}

// For a device with a clock of 1970 no certificate is valid yet. This uses real connections.
func TestClockOf1970AcceptsACertificateThatIsNotValidYet(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		wall, from, to time.Time
		works          bool
	}{
		"a good clock":                         {now, now.Add(-time.Hour), now.Add(time.Hour), true},
		"a clock of 1970":                      {time.Unix(0, 0), now.Add(-time.Hour), now.Add(time.Hour), true},
		"a good clock and an old certificate":  {now, now.Add(-2 * time.Hour), now.Add(-time.Hour), false},
		"a clock of 1970 and an untrusted one": {time.Unix(0, 0), now.Add(-time.Hour), now.Add(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			url, ca := certified(t, f, c.from, c.to)
			if !c.works && c.wall.Year() == 1970 {
				_, ca = certified(t, f, c.from, c.to)
			}
			client := f.open(func(d *device.Config) {
				d.Endpoint, d.CAFile, d.Transport = url, ca, nil
				d.Wall = func() time.Time { return c.wall }
			})
			f.mustSend(client)
			stop := f.run(client)
			if c.works {
				f.flush(client)
			} else {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if client.Flush(ctx) == nil || client.Stats().Err == nil {
					t.Error("the certificate is accepted")
				}
			}
			stop()
			f.close(client)
			if n, _ := f.rows(); len(n) == 1 != c.works {
				t.Errorf("%d rows", len(n))
			}
		})
	}
}
