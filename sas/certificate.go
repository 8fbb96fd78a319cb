package sas

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"furrow/tables/schema"
)

// Reasons why a client certificate does not prove who a device is.
var (
	ErrCertificate = errors.New("the certificate is not one for TLS clients that an authority of devices has signed; " +
		"send the certificates between it and the authority along with it")
	ErrCertificateExpired    = errors.New("the certificate has expired or is not valid yet")
	ErrCertificateDevice     = errors.New("the certificate is for another device: its common name must be the device's ID")
	ErrCertificateEnrollment = errors.New("the certificate must name the device's enrollment as its organizational unit")
)

// AuthenticateCertificate returns the enrollment that a device's certificate names, or why the certificate does not
// prove that the client is the device. The certificate is the first of the chain, whose others may lead to one of the
// Authorities; TLS has verified that the client has its private key. Its common name is the device's ID, and its only
// organizational unit the enrollment's. Like Authenticate, it does not read the device's record.
func (i *Issuer) AuthenticateCertificate(ctx context.Context, device schema.DeviceID,
	chain []*x509.Certificate) (schema.Enrollment, error) {
	if err := i.verify(chain, time.Now()); err != nil {
		return schema.Enrollment{}, err
	}
	subject := chain[0].Subject
	if subject.CommonName != string(device) {
		return schema.Enrollment{}, ErrCertificateDevice
	}
	if len(subject.OrganizationalUnit) != 1 {
		return schema.Enrollment{}, ErrCertificateEnrollment
	}
	return i.renewing(ctx, func() (schema.Enrollment, error) {
		e, err := i.Enrollments.Find(ctx, schema.EnrollmentID(subject.OrganizationalUnit[0]))
		switch {
		case errors.Is(err, ErrNoEnrollment):
			err = fmt.Errorf("%w: %w", ErrCertificateEnrollment, err)
		case err == nil && e.Disabled:
			err = ErrDisabled
		}
		return e, err
	})
}

// maxChain bounds how many certificates a client may send, since each may cost a check of a signature for each request,
// before anything is known about the client.
const maxChain = 8

// verify returns why no authority vouches for the first certificate of a chain.
func (i *Issuer) verify(chain []*x509.Certificate, now time.Time) error {
	if len(chain) == 0 || len(chain) > maxChain || i.Authorities == nil {
		return ErrCertificate
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: i.Authorities(), Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w: %w", ErrCertificateExpired, err)
	}
	return fmt.Errorf("%w: %w", ErrCertificate, err)
}
