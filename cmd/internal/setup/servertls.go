package setup

import (
	"crypto/tls"

	"furrow/tables/local"
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

// ProtectAll puts the listeners of storage behind TLS.
func (t *TLS) ProtectAll(l local.Listeners) local.Listeners {
	if t == nil {
		return l
	}
	return local.Listeners{Blob: tls.NewListener(l.Blob, t.Config), Queue: tls.NewListener(l.Queue, t.Config),
		Table: tls.NewListener(l.Table, t.Config)}
}
