package monitor

import "furrow/cmd/internal/setup"

// Certificate adds the end of a server's certificate. Without TLS it is zero.
func (m *Monitor) Certificate(t *setup.TLS) {
	m.Gauge("furrow_certificate_end_seconds", "When the server's certificate ends, in seconds since 1970; 0 without one.",
		func() float64 {
			if t == nil || t.End().IsZero() {
				return 0
			}
			return float64(t.End().Unix())
		})
}
