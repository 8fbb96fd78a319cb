package main

import (
	"crypto/tls"
	"log/slog"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
)

func deviceCAFlag() cli.Flag {
	return &cli.StringFlag{Name: "device-ca", Usage: "PEM `FILE` of authorities whose client certificates devices may " +
		"present instead of a key, read again when it changes; needs --tls (see furrow help devices)"}
}

// checkDeviceCA refuses --device-ca where the endpoint would see no certificate.
func checkDeviceCA(c *cli.Context) error {
	if c.String("device-ca") != "" && c.String("tls") == tlsOff {
		return usagef(c, "--device-ca needs --tls: the endpoint has to see the certificates of devices itself, and a proxy "+
			"that terminates TLS keeps them")
	}
	return nil
}

// acceptCertificates lets the authorities of --device-ca vouch for devices. It precedes server.
func (o *tokenService) acceptCertificates(c *cli.Context, log *slog.Logger) error {
	file := c.String("device-ca")
	if file == "" {
		return nil
	}
	authorities, err := setup.DeviceAuthorities(file, log)
	if err != nil {
		return usagef(c, "--device-ca: %v", err)
	}
	o.Issuer.Authorities = authorities
	return nil
}

// serverConfig returns the TLS configuration for devices. It requests certificates without verifying who signed them:
// a device with a wrong one is told why it is wrong, and one with a key may have a certificate for something else.
func (o *tokenService) serverConfig(of *setup.TLS) *tls.Config {
	config := of.ServerConfig()
	if o.Issuer.Authorities == nil {
		return config
	}
	config = config.Clone()
	config.ClientAuth = tls.RequestClientCert
	return config
}
