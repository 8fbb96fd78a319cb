package endpoint

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkTokenHandler is what a request costs besides its proof and its token:
// one that is given one, and, what a storm is made of, one that is turned away.
func BenchmarkTokenHandler(b *testing.B) {
	for name, c := range map[string]struct {
		limits Limits
		want   int
	}{
		"issued":      {Limits{Rate: 1_000_000, DeviceRate: 1_000_000_000}, http.StatusOK},
		"turned away": {Limits{DeviceRate: 1}, http.StatusTooManyRequests},
	} {
		b.Run(name, func(b *testing.B) {
			h, err := New(Config{Issuer: fakeIssuer{}, Limits: c.limits, Log: quiet()})
			if err != nil {
				b.Fatal(err)
			}
			for range DeviceBurst { // which any limit lets pass
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
