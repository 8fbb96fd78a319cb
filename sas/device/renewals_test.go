package device_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

func TestRenewalsAreSpreadOverTheirWindow(t *testing.T) {
	f := newFixture(t)
	f.bubble(600, func() {
		c := f.start(nil)
		for range 600 {
			time.Sleep(4 * time.Minute)
			f.mustSend(c)
		}
	})
	minutes := map[int]int{}
	for i := range len(f.asked) - 1 {
		gap := f.asked[i+1].Sub(f.asked[i])
		if gap < 40*time.Minute || gap > 54*time.Minute {
			t.Errorf("renewed after %s", gap)
		}
		minutes[int(gap/time.Minute)]++
	}
	if len(minutes) < 3 {
		t.Errorf("renewals are not spread: %v", minutes)
	}
}

// TestNoEndpointHasADeviceRenewForEachReading: it says that a token was to be renewed long before it was issued.
func TestNoEndpointHasADeviceRenewForEachReading(t *testing.T) {
	f := newFixture(t)
	const hours = 6
	f.bubble(60*hours, func() {
		c := f.start(func(c *device.Config) {
			c.Transport = faults.Func(func(req *http.Request) (*http.Response, error) {
				resp, err := f.RoundTrip(req)
				if err == nil && req.URL.Host == "endpoint.test" {
					body := must.Have(io.ReadAll(resp.Body))(t)
					body = regexp.MustCompile(`"renewAfter":"[^"]*"`).ReplaceAll(body,
						[]byte(`"renewAfter":"0001-01-01T00:00:00Z"`))
					resp.Body = io.NopCloser(bytes.NewReader(body))
				}
				return resp, err
			})
		})
		for range 60 * hours {
			f.mustSend(c)
			time.Sleep(time.Minute)
		}
	})
	if _, n := f.counts(); n > 12*hours {
		t.Errorf("%d tokens in %d hours", n, hours)
	}
}

func TestValidTokenIsUsedWhileTheEndpointIsDown(t *testing.T) {
	f := newFixture(t)
	f.bubble(60, func() {
		c := f.start(nil)
		f.mustStore(c)
		waiting := func(want int64) {
			synctest.Wait()
			if n := c.Stats().Waiting; n != want {
				t.Errorf("%d wait, want %d", n, want)
			}
		}
		f.set(func(f *fixture) {
			f.refuse = func(time.Time) *problem { return &problem{Status: 500, Code: "internal"} }
		})
		for range 58 {
			time.Sleep(time.Minute)
			f.mustSend(c)
			waiting(0)
		}
		time.Sleep(10 * time.Minute)
		f.mustSend(c)
		waiting(1)
		f.set(func(f *fixture) { f.refuse = nil })
	})
}
