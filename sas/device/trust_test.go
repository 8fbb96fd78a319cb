package device_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/must"
)

// For a device whose battery was out, no certificate is valid yet. This uses real connections and
// the certificate of httptest, which is valid from 1970 until 2084.
func TestClockBeforeACertificatesValidityIsCorrected(t *testing.T) {
	for name, c := range map[string]struct {
		year    int // of the device's clock
		trusted bool
		rows    int
	}{
		"a good clock":                         {time.Now().Year(), true, 1},
		"a clock of 1969":                      {1969, true, 1},
		"a clock after the certificate":        {2100, true, 0},
		"a clock of 1969 and an untrusted one": {1969, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				f.mu.Lock()
				defer f.mu.Unlock()
				resp := f.issue(r, time.Now())
				rw.WriteHeader(resp.StatusCode)
				io.Copy(rw, resp.Body)
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			client := f.open(func(d *device.Config) {
				d.Endpoint, d.Transport = s.URL, nil
				d.Wall = func() time.Time { return time.Now().AddDate(c.year-time.Now().Year(), 0, 0) }
				if c.trusted {
					d.CAFile = filepath.Join(t.TempDir(), "ca.pem")
					ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
					must.Succeed(t, os.WriteFile(d.CAFile, ca, 0o600))
				}
			})
			must.Succeed(t, client.Send(device.Reading{Values: map[string]any{"N": int32(1)}}))
			f.run(client)
			for s := client.Stats(); s.Stored == 0 && s.Err == nil; s = client.Stats() {
				time.Sleep(time.Millisecond)
			}
			f.close(client)
			if n := f.check(); n != c.rows {
				t.Errorf("%d rows", n)
			}
		})
	}
}
