package endpoint

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkTokenHandler measures a request without its proof and its token: one that
// succeeds, and one that the rate limit rejects, as most do in a storm.
func BenchmarkTokenHandler(b *testing.B) {
	for name, c := range map[string]struct {
		limits Limits
		want   int
	}{
		"issued":   {Limits{Rate: 1_000_000, DeviceRate: 1_000_000_000}, http.StatusOK},
		"rejected": {Limits{DeviceRate: 1}, http.StatusTooManyRequests},
	} {
		b.Run(name, func(b *testing.B) {
			h, err := New(Config{Issuer: fakeIssuer{}, Limits: c.limits, Log: quiet()})
			if err != nil {
				b.Fatal(err)
			}
			for range DeviceBurst { // use up the burst
				askToken(h, "pump-7", rightProof)
			}
			b.ReportAllocs()
			r := request("POST", "/v1/devices/pump-7/token", rightProof, nil)
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != c.want {
					b.Fatalf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
}
