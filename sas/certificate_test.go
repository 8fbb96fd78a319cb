package sas_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables/azuretest/certificates"
)

func TestCertificateProvesItsOwnDeviceAlone(t *testing.T) {
	y := newFixture(t, nil)
	ours, theirs := certificates.New(t, "ours"), certificates.New(t, "theirs")
	below := ours.Below(t, "plant")
	server := certificates.OfServer
	only := func(a certificates.Authority) []*x509.Certificate { return []*x509.Certificate{a.Certificate} }
	lapsed := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	early := func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }
	two := func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"plant1", "plant2"} }
	any := func(c *x509.Certificate) { c.ExtKeyUsage = nil }
	pool := x509.NewCertPool()
	pool.AddCert(ours.Certificate)
	for name, c := range map[string]struct {
		of    tls.Certificate
		after []*x509.Certificate
		want  error
	}{
		"its own":                       {of: ours.Sign(t, "pump-7", "plant1")},
		"one without a stated use":      {of: ours.Sign(t, "pump-7", "plant1", any)},
		"one of an authority below":     {below.Sign(t, "pump-7", "plant1"), only(below), nil},
		"an authority below not sent":   {of: below.Sign(t, "pump-7", "plant1"), want: sas.ErrCertificate},
		"another authority's":           {of: theirs.Sign(t, "pump-7", "plant1"), want: sas.ErrCertificate},
		"another authority's, sent too": {theirs.Sign(t, "pump-7", "plant1"), only(theirs), sas.ErrCertificate},
		"a server's":                    {of: ours.Sign(t, "pump-7", "plant1", server), want: sas.ErrCertificate},
		"an expired one":                {of: ours.Sign(t, "pump-7", "plant1", lapsed), want: sas.ErrCertificateExpired},
		"one that is not valid yet":     {of: ours.Sign(t, "pump-7", "plant1", early), want: sas.ErrCertificateExpired},
		"another device's":              {of: ours.Sign(t, "pump-8", "plant1"), want: sas.ErrCertificateDevice},
		"one that differs by case":      {of: ours.Sign(t, "Pump-7", "plant1"), want: sas.ErrCertificateDevice},
		"one without an enrollment":     {of: ours.Sign(t, "pump-7", ""), want: sas.ErrCertificateEnrollment},
		"one with two enrollments":      {of: ours.Sign(t, "pump-7", "", two), want: sas.ErrCertificateEnrollment},
		"an unknown enrollment's":       {of: ours.Sign(t, "pump-7", "plant2"), want: sas.ErrCertificateEnrollment},
		"the authority's own":           {of: tls.Certificate{Leaf: ours.Certificate}, want: sas.ErrCertificateDevice},
	} {
		y.issuer.Authorities = func() *x509.CertPool { return pool }
		chain := append([]*x509.Certificate{c.of.Leaf}, c.after...)
		e, err := y.issuer.AuthenticateCertificate(t.Context(), "pump-7", chain)
		if !errors.Is(err, c.want) || (err == nil) != (e.ID == "plant1") {
			t.Errorf("%s: %q, %v; want %v", name, e.ID, err, c.want)
		}
		y.issuer.Authorities = nil
		if _, err := y.issuer.AuthenticateCertificate(t.Context(), "pump-7", chain); !errors.Is(err, sas.ErrCertificate) {
			t.Errorf("%s, without authorities: %v", name, err)
		}
	}
	y.issuer.Authorities = func() *x509.CertPool { return pool }
	long := append([]*x509.Certificate{below.Sign(t, "pump-7", "plant1").Leaf, below.Certificate},
		slices.Repeat(only(theirs), 6)...)
	for n, want := range map[int]error{len(long): nil, len(long) + 1: sas.ErrCertificate} {
		chain := append(slices.Clone(long), only(theirs)...)[:n]
		if _, err := y.issuer.AuthenticateCertificate(t.Context(), "pump-7", chain); !errors.Is(err, want) {
			t.Errorf("%d certificates: %v", n, err)
		}
	}
	y.issuer.Authorities, y.enrollment.Disabled = func() *x509.CertPool { return pool }, true
	own := []*x509.Certificate{ours.Sign(t, "pump-7", "plant1").Leaf}
	if _, err := y.issuer.AuthenticateCertificate(t.Context(), "pump-7", own); !errors.Is(err, sas.ErrDisabled) {
		t.Errorf("a disabled enrollment: %v", err)
	}
}
