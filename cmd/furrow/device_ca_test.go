package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/sas/device"
	"furrow/sas/endpoint"
	"furrow/tables/azuretest/certificates"
)

// A certified is an endpoint whose devices have certificates.
type certified struct {
	*fixture
	ours, theirs certificates.Authority // only ours is trusted at first
	file         string                 // of --device-ca
	endpoint     *running[tokenScreen]
}

func newCertified(t *testing.T) certified {
	t.Helper()
	f := certified{newFixture(t), certificates.New(t, "ours"), certificates.New(t, "theirs"),
		filepath.Join(t.TempDir(), "device-ca.pem"), nil}
	f.must("enrollment add line4 --tenant contoso")
	f.trust(f.ours)
	f.endpoint = startEndpoint(t, "--storage", f.storage, "--tls", "self-signed", "--device-ca", f.file)
	return f
}

// trust replaces the file of authorities.
func (f certified) trust(all ...certificates.Authority) {
	var pem []byte
	for _, a := range all {
		pem = append(pem, certificates.PEM(a.Certificate)...)
	}
	certificates.Replace(f.t, f.file, pem)
}

// ask asks for the token of pump-7, with a certificate and a proof unless they are empty. It returns the code of a
// problem, or that of TLS if the connection fails.
func (f certified) ask(with tls.Certificate, proof string) (status int, code endpoint.Code, detail string) {
	f.t.Helper()
	client := clientTrusting(f.t, f.endpoint.said.TLS.CAFile)
	if with.Certificate != nil {
		client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{with}
	}
	r, err := http.NewRequest("POST", f.endpoint.said.Endpoint+"/v1/devices/pump-7/token", nil)
	must(f.t, err)
	if proof != "" {
		r.Header.Set("Authorization", proof)
	}
	w, err := client.Do(r)
	must(f.t, err)
	defer w.Body.Close()
	defer client.CloseIdleConnections()
	var problem struct {
		Code   endpoint.Code
		Detail string
	}
	must(f.t, json.NewDecoder(w.Body).Decode(&problem))
	return w.StatusCode, problem.Code, problem.Detail
}

func (f certified) want(what string, code endpoint.Code, with tls.Certificate, proof string) {
	f.t.Helper()
	if status, got, detail := f.ask(with, proof); got != code || (code == "") != (status == http.StatusOK) ||
		(code == "") != (detail == "") {
		f.t.Errorf("%s: %d %q %s; want %q", what, status, got, detail, code)
	}
}

func TestEndpointTakesCertificatesBesideKeys(t *testing.T) {
	f := newCertified(t)
	key, err := sas.ParseKey(jsonOf[keyLine](t, f.must("enrollment key line4 --show-key --json"))[0].Key)
	must(t, err)
	proof := key.Of("pump-7").Prove("line4/registrations/pump-7", time.Now().Add(time.Hour))
	own, another := f.ours.Sign(t, "pump-7", "line4"), f.theirs.Sign(t, "pump-7", "line4")
	lapsed := f.ours.Sign(t, "pump-7", "line4", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	f.want("its own certificate", "", own, "")
	f.want("its key", "", tls.Certificate{}, proof)
	f.want("its key beside a certificate for something else", "", another, proof)
	f.want("a wrong key beside its own certificate", endpoint.ProofWrong, own,
		key.Of("pump-8").Prove("line4/registrations/pump-7", time.Now().Add(time.Hour)))
	f.want("nothing", endpoint.ProofMissing, tls.Certificate{}, "")
	f.want("one of another authority", endpoint.CertificateWrong, another, "")
	f.want("an expired one", endpoint.CertificateExpired, lapsed, "")
	f.want("another device's", endpoint.CertificateWrong, f.ours.Sign(t, "pump-8", "line4"), "")
	f.want("one of another enrollment", endpoint.CertificateWrong, f.ours.Sign(t, "pump-7", "line5"), "")

	f.trust(f.ours, f.theirs) // without a restart
	f.want("the new authority's", "", another, "")
	f.trust(f.theirs)
	f.want("the removed authority's", endpoint.CertificateWrong, own, "")
	certificates.Replace(t, f.file, []byte("half a file"))
	f.want("the authority's while its file is broken", "", another, "")
	if log := f.endpoint.stderr.String(); !strings.Contains(log, "no certificate in PEM") {
		t.Errorf("the log is %s", log)
	}

	f.must("device revoke pump-7")
	f.want("a revoked device's", endpoint.Revoked, another, "")
	f.endpoint.mustEnd(t)
}

func TestGoClientWritesWithItsCertificate(t *testing.T) {
	f := newCertified(t)
	certFile, keyFile := certificates.Write(t, t.TempDir(), f.ours.Sign(t, "pump-7", "line4"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reports := make(chan device.Report, 1)
	c, err := device.Open(device.Config{Endpoint: f.endpoint.said.Endpoint, Device: "pump-7", CertFile: certFile,
		KeyFile: keyFile, CAFile: f.endpoint.said.TLS.CAFile, OnReport: func(r device.Report) { reports <- r }})
	must(t, err)
	must(t, c.Send(device.Reading{Values: map[string]any{"temperature": 21.5}}))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- c.Run(running) }()
	flushed := make(chan error, 1)
	go func() { flushed <- c.Flush(ctx) }()
	select {
	case err := <-flushed:
		must(t, err)
	case r := <-reports: // Flush would wait until an operator acts
		t.Errorf("the device reports %+v", r)
	}
	stop()
	must(t, <-ended)
	must(t, c.Close())
	if s := c.Stats(); s.Stored != 1 {
		t.Errorf("stored: %+v", s)
	}
}

// certificateTour returns the commands of the reference that make a certificate, the flags of up, and the request.
func certificateTour(t *testing.T) (sign, flags, curl string) {
	t.Helper()
	_, section, _ := strings.Cut(text(t, "reference/devices.md"), "## Certificates\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	block, _, found := strings.Cut(section, "```")
	sign, rest, _ := strings.Cut(block, "./furrow up ")
	flags, curl, ok := strings.Cut(rest, "\n")
	if !found || !ok || !strings.Contains(flags, "--device-ca device-ca.pem") {
		t.Fatalf("the page has changed:\n%s", block)
	}
	return sign, flags, curl
}

// TestDocumentedCertificateGetsAToken runs the commands of the reference.
func TestDocumentedCertificateGetsAToken(t *testing.T) {
	needTools(t)
	f := newFixture(t)
	f.must("enrollment add line4 --tenant contoso")
	sign, flags, curl := certificateTour(t)
	dir := t.TempDir()
	paste(t, "cd "+dir+"\n"+sign)
	flags = strings.Replace(flags, "device-ca.pem", filepath.Join(dir, "device-ca.pem"), 1)
	e := startEndpoint(t, append([]string{"--storage", f.storage}, strings.Fields(flags)...)...)
	port := e.said.Endpoint[strings.LastIndex(e.said.Endpoint, ":"):]
	curl = strings.NewReplacer(":10080", port, "furrow-data/tls/ca.pem", e.said.TLS.CAFile).Replace(curl)
	if out := paste(t, "cd "+dir+"\n"+curl); !strings.Contains(out, `"partitionKey":"pump-7"`) {
		t.Errorf("the endpoint answers %s", out)
	}
}

func TestDeviceAuthoritiesAreCheckedAtTheStart(t *testing.T) {
	f := newFixture(t)
	ours := certificates.New(t, "ours")
	file := filepath.Join(t.TempDir(), "device-ca.pem")
	f.refused(exitUsage, "--device-ca needs --tls", "sas --device-ca "+file)
	f.refused(exitUsage, "--device-ca needs --tls", "up --device-ca "+file)
	at := "sas --listen 127.0.0.1:0 --tls self-signed --device-ca " + file
	f.refused(exitUsage, "no such file", at)
	for content, want := range map[string]string{
		"nothing": "no certificate in PEM",
		"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n": "leave only certificates",
		string(certificates.PEM(ours.Sign(t, "pump-7", "line4").Leaf)):         "is not one of an authority",
	} {
		certificates.Replace(t, file, []byte(content))
		f.refused(exitUsage, want, at)
	}
}
