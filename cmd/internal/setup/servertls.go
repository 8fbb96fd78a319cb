package setup

import (
	"crypto/tls"
)

// Scheme returns http or https. A nil TLS is a server without TLS, here and in the other methods.
func (t *TLS) Scheme() string {
	if t == nil {
		return "http"
	}
	return "https"
}

// ServerConfig returns the configuration of a server, nil without TLS.
func (t *TLS) ServerConfig() *tls.Config {
	if t == nil {
		return nil
	}
	return t.Config
}
