package device_test

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/certificates"
	"furrow/tables/azuretest/must"
)

// The endpoint answers twice that the clock is wrong, so that the device asks three times at once.
func TestRenewedCertificateIsPresentedWithoutARestart(t *testing.T) {
	t.Parallel()
	ca, dir := certificates.New(t, "ours"), t.TempDir()
	certFile, keyFile := certificates.Write(t, dir, ca.Sign(t, "first", "plant1"))
	presented := make(chan string, 3)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented <- r.TLS.PeerCertificates[0].Subject.CommonName + r.Header.Get("Authorization")
		code := "proof-expired"
		if len(presented) == cap(presented) {
			code = "revoked"
		}
		certificates.Write(t, dir, ca.Sign(t, "renewed", "plant1"))
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "serverTime": time.Now()})
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	caFile := filepath.Join(dir, "ca.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}
	must.Succeed(t, os.WriteFile(caFile, pem.EncodeToMemory(&block), 0o600))
	reports := make(chan device.Report, 1)
	f := &fixture{t: t, running: map[*device.Client]func(){}}
	c := must.Have(device.Open(device.Config{Endpoint: s.URL, Device: id, CertFile: certFile, KeyFile: keyFile,
		CAFile: caFile, OnReport: func(r device.Report) { reports <- r }}))(t)
	f.run(c)
	if r := <-reports; r.Reason != device.Denied {
		t.Errorf("the device reports %+v", r)
	}
	f.close(c)
	want := []string{"first", "renewed", "renewed"}
	if got := []string{<-presented, <-presented, <-presented}; !slices.Equal(got, want) {
		t.Errorf("it presented %q, want %q", got, want)
	}
}
