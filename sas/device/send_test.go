package device_test

import (
	"encoding/pem"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/must"
)

func good() device.Config {
	return device.Config{Endpoint: "https://endpoint.test", Device: id, Enrollment: "plant1",
		Key: "AAAAAAAAAAAAAAAAAAAAAA=="}
}

func TestInvalidConfigsAreRefused(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	must.Succeed(t, os.WriteFile(other, []byte("not a title, but as long as one"), 0o600))
	for want, spoil := range map[string]func(*device.Config){
		"device id":            func(c *device.Config) { c.Device = "a b" },
		"enrollment":           func(c *device.Config) { c.Enrollment = "" },
		"not in base64":        func(c *device.Config) { c.Key = "secret!" },
		"want a URL":           func(c *device.Config) { c.Endpoint = "endpoint" },
		"on loopback":          func(c *device.Config) { c.Endpoint = "http://192.168.0.9:8080" },
		"doc.go contains none": func(c *device.Config) { c.CAFile = "doc.go" },
		"no such file":         func(c *device.Config) { c.CAFile = "nothing.pem" },
		"both a key and a":     func(c *device.Config) { c.CertFile, c.KeyFile = "a.pem", "a.key" },
		"two files":            func(c *device.Config) { c.Key, c.CertFile = "", "a.pem" },
		"a.pem: no such file":  func(c *device.Config) { c.Key, c.CertFile, c.KeyFile = "", "a.pem", "a.key" },
		"and CertFile are": func(c *device.Config) {
			c.Key, c.CertFile, c.KeyFile, c.Transport = "", "a", "b", http.DefaultTransport
		},
		"file of waiting": func(c *device.Config) { c.File = other },
		"other/x.lock: n": func(c *device.Config) { c.File = other + "/x" },
	} {
		c := good()
		spoil(&c)
		if _, err := device.Open(c); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	for _, endpoint := range []string{"https://h/", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost"} {
		c := good()
		c.Endpoint = endpoint
		if _, err := device.Open(c); err != nil {
			t.Error(err)
		}
	}
}

func TestSendRefusesWhatStorageWouldRefuse(t *testing.T) {
	c := must.Have(device.Open(good()))(t)
	many := map[string]any{}
	for i := range 253 {
		many["p"+strings.Repeat("x", i)] = i
	}
	full := map[string]any{"a": slices.Repeat([]any{strings.Repeat("x", 32<<10)}, 17)}
	for want, values := range map[string]map[string]any{
		"no values":      {"a": nil},
		"255 characters": {strings.Repeat("x", 256): 1},
		"a struct {} c":  {"a": struct{}{}},
		"bytes":          {"a": strings.Repeat("x", 32<<10+1)},
		"more than 252":  many,
		"at most 104857": full,
		"not UTF-8":      {"a": "\xff"},
		"finite":         {"a": math.NaN()},
		"more than an I": {"a": uint64(math.MaxUint64)},
		"between 1601":   {"a": time.Time{}},
	} {
		if err := c.Send(device.Reading{Values: values}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if stats := c.Stats(); stats.Refused != 10 || stats.Accepted != 0 || stats.Waiting != 0 {
		t.Errorf("%+v", stats)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Send(device.Reading{Values: map[string]any{"a": 1}}); err == nil ||
		!strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

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
