package device_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

func TestRevokedDeviceKeepsItsReadingsAndAsksSlowly(t *testing.T) {
	f := newFixture(t)
	f.bubble(120, func() {
		f.refuse = func(time.Time) *problem { return &problem{Status: 403, Code: "revoked"} }
		c := f.start(nil)
		for range 120 { // the first readings are taken before the device knows the time
			f.mustSend(c)
			time.Sleep(time.Minute)
		}
		if n, _ := f.counts(); n < 120*2/15 || n > 120*4/15 {
			t.Errorf("asked %d times in two hours", n)
		}
		if stats := c.Stats(); f.reported(device.Denied) != 1 || stats.Err == nil || stats.Waiting != 120 {
			t.Errorf("%+v, %v", stats, f.reports)
		}
		f.set(func(f *fixture) { f.refuse = nil })
		time.Sleep(10 * time.Minute)
		f.flush(c)
		if err := c.Stats().Err; err != nil {
			t.Error(err)
		}
	})
}

// TestARingComesAfterTheReadings: they are stored when the endpoint is told.
func TestARingComesAfterTheReadings(t *testing.T) {
	f := newFixture(t)
	f.bubble(3, func() {
		c := f.start(nil)
		stored := -1
		f.set(func(f *fixture) { f.rang = func(string) { stored = int(c.Stats().Stored) } })
		for range 3 {
			f.mustSend(c)
		}
		if err := c.Ring(t.Context()); err != nil || stored != 3 {
			t.Errorf("%d readings are stored when the device rings: %v", stored, err)
		}
		f.set(func(f *fixture) { f.offline = true })
		if err := c.Ring(t.Context()); err == nil {
			t.Error("a ring that nobody heard is no error")
		}
		f.set(func(f *fixture) { f.offline = false })
	})
}

// TestARingNamesLateRows: the oldest of those that were stored after newer ones, until somebody has heard it.
func TestARingNamesLateRows(t *testing.T) {
	f := newFixture(t)
	f.bubble(3, func() {
		c := f.start(nil)
		said := ""
		f.set(func(f *fixture) { f.rang = func(body string) { said = body } })
		mustSay := func(want string) {
			t.Helper()
			if err := c.Ring(t.Context()); err != nil || said != want {
				t.Errorf("%v: %s, want %s", err, said, want)
			}
		}
		f.set(func(f *fixture) { f.next = 2 }) // numbers follow the times of readings
		f.mustStore(c)
		mustSay(`{"ring":true}`)
		f.set(func(f *fixture) { f.next = 0 })
		late := f.now().Add(-time.Hour)
		for _, at := range []time.Time{late, late.Add(time.Minute)} {
			must.Succeed(t, f.sendOf(c, at))
			f.flush(c)
		}
		f.set(func(f *fixture) { f.offline = true })
		if err := c.Ring(t.Context()); err == nil {
			t.Error("a ring that nobody heard is no error")
		}
		f.set(func(f *fixture) { f.offline = false })
		mustSay(`{"ring":true,"late":"` + tables.TicksOf(late).String() + `"}`)
		mustSay(`{"ring":true}`)
	})
}

func TestRevokedTokenIsReplacedAtOnce(t *testing.T) {
	f := newFixture(t)
	f.bubble(2, func() {
		c := f.start(nil)
		f.mustStore(c)
		f.set(func(f *fixture) { f.revoked[f.tokens[0]] = true })
		time.Sleep(time.Minute) // tokens of the same second are equal
		before := time.Now()
		f.mustStore(c)
		if _, n := f.counts(); n != 2 || time.Since(before) != 0 || len(f.reports) != 0 {
			t.Errorf("%d tokens, %s, %v", n, time.Since(before), f.reports)
		}
	})
}

func TestStorageThatRefusesEveryTokenIsNotFlooded(t *testing.T) {
	f := newFixture(t)
	f.bubble(180, func() {
		f.storage = func(*http.Request) *http.Response { return odata(403, "AuthenticationFailed") }
		c := f.start(nil)
		for range 180 {
			f.mustSend(c)
			time.Sleep(time.Minute)
		}
		if _, n := f.counts(); n > 400 || n < 90 || f.reported(device.Denied) != 1 {
			t.Errorf("%d tokens in three hours; %v", n, f.reports)
		}
		f.set(func(f *fixture) { f.storage = nil })
	})
}

func TestRowsOutsideTheWindowDoNotBlockOthers(t *testing.T) {
	f := newFixture(t)
	f.bubble(50, func() {
		c := f.open(nil)
		for i := range 50 {
			if age, outside := map[int]time.Duration{3: 8 * 24 * time.Hour, 7: -24 * time.Hour}[i%10]; outside {
				r := device.Reading{Time: f.now().Add(-age), Values: map[string]any{"N": 1000 + i}}
				if err := c.Send(r); err != nil {
					t.Error(err)
				}
			}
			f.mustSend(c)
		}
		f.run(c)
		f.flush(c)
		if s := c.Stats(); f.reported(device.OutsideWindow) != 10 || s.SetAside != 10 || s.Stored != 50 {
			t.Errorf("%+v, %v", s, f.reports)
		}
	})
	for _, r := range f.reports {
		if r.Key == "" || r.Time.IsZero() || !strings.Contains(r.Err.Error(), "token admits") {
			t.Errorf("%+v", r)
		}
	}
}

// refused is the response to a transaction with one invalid row.
func refused(index string) *http.Response {
	body := "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: " +
		"application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" +
		`{"odata.error":{"code":"PropertyValueTooLarge","message":{"lang":"en-US","value":"` + index +
		`It is too large.\nRequestId:x"}}}` + "\r\n--b--\r\n--a--\r\n"
	return &http.Response{StatusCode: 202, Header: http.Header{"Content-Type": {"multipart/mixed; boundary=a"}},
		Body: io.NopCloser(strings.NewReader(body))}
}

// Storage may or may not identify the invalid row of a transaction.
func TestOnlyRejectedRowsAreSetAside(t *testing.T) {
	for name, indexed := range map[string]bool{"identified": true, "not identified": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.bubble(18, func() {
				f.storage = func(req *http.Request) *http.Response {
					body, _ := io.ReadAll(req.Body)
					rows := strings.Split(string(body), "PartitionKey")[1:]
					for i, r := range rows {
						switch {
						case !strings.Contains(r, `"N":7,`) && !strings.Contains(r, `"N":12,`):
						case len(rows) == 1:
							return odata(400, "PropertyValueTooLarge")
						case indexed:
							return refused(fmt.Sprintf("%d:", i))
						default:
							return refused("")
						}
					}
					return nil
				}
				c := f.open(nil)
				for range 20 {
					f.mustSend(c)
				}
				f.run(c)
			})
			if told := f.reasons(); told[7] != device.Rejected || told[12] != device.Rejected || len(told) != 2 {
				t.Errorf("reported: %v", told)
			}
		})
	}
}

func TestLostResponseOfATransactionCostsOneMoreRequest(t *testing.T) {
	f := newFixture(t)
	f.bubble(100, func() {
		lost := false
		c := f.open(func(c *device.Config) {
			c.Transport = faults.Func(func(req *http.Request) (*http.Response, error) {
				resp, err := f.RoundTrip(req)
				if !lost && strings.HasSuffix(req.URL.Path, "$batch") {
					lost = true
					return nil, io.ErrUnexpectedEOF
				}
				return resp, err
			})
		})
		for range 100 {
			f.mustSend(c)
		}
		f.run(c)
	})
	if strings.Join(f.sent, ", ") != "$batch 100, $batch 100" {
		t.Errorf("sent %v", f.sent)
	}
}

func TestSeveralReadingsShareATransaction(t *testing.T) {
	f := newFixture(t)
	f.batch = 10
	f.bubble(25, func() {
		c := f.open(nil)
		for range 25 {
			f.mustSend(c)
		}
		f.run(c)
	})
	want := "$batch 10, $batch 10, $batch 5"
	if strings.Join(f.sent, ", ") != want {
		t.Errorf("sent %v, want %s", f.sent, want)
	}
}

func TestTransactionsAreLimitedTo3MiB(t *testing.T) {
	f := newFixture(t)
	f.bubble(60, func() {
		var longest int64
		c := f.open(func(c *device.Config) {
			c.Transport = faults.Func(func(req *http.Request) (*http.Response, error) {
				longest = max(longest, req.ContentLength)
				return f.RoundTrip(req)
			})
		})
		text := strings.Repeat("x", 32<<10)
		for i := range 60 {
			must.Succeed(t, c.Send(device.Reading{Values: map[string]any{"N": int32(i), "A": text, "B": text}}))
		}
		f.run(c)
		f.flush(c)
		if longest > 3<<20 || longest < 2<<20 {
			t.Errorf("the longest request has %d bytes", longest)
		}
	})
}

func TestFullBufferRefusesTheNewest(t *testing.T) {
	f := newFixture(t)
	f.bubble(18, func() {
		c := f.open(func(c *device.Config) { c.MaxBytes = 2500 })
		for i := range 100 {
			if err := f.send(c); (err == nil) != (i < 17) || err != nil && !strings.Contains(err.Error(), "buffer is full") {
				t.Errorf("reading %d: %v", i, err)
			}
			if stats := c.Stats(); stats.Bytes > 2500 {
				t.Errorf("%+v", stats)
			}
		}
		f.run(c)
		f.flush(c)
		f.mustSend(c)
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	f := newFixture(t)
	f.bubble(1, func() {
		f.refuse = func(time.Time) *problem {
			after := http.Header{"Retry-After": {fmt.Sprint(60 * len(f.asked))}}
			switch len(f.asked) {
			case 1:
				return &problem{Status: 429, Code: "too-many-requests", header: after}
			case 2:
				return &problem{Status: 503, Code: "not-ready", header: after}
			}
			return nil
		}
		f.mustSend(f.start(nil))
	})
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute} {
		if got := f.asked[i+1].Sub(f.asked[i]); got < want || got > want+10*time.Second {
			t.Errorf("asked again after %s, want %s", got, want)
		}
	}
}

// A power cut happens before the device knows the time. The next run uses the device's own
// clock, unless that cannot have been right.
func TestReadingsOfARunWithoutServerTime(t *testing.T) {
	for name, c := range map[string]struct {
		wrong time.Duration // the first run's clock
		rows  int
	}{
		"a clock that was right": {0, 11},
		"a clock of 1970":        {-56 * 365 * 24 * time.Hour, 1},
		"a clock ahead":          {24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			file := filepath.Join(t.TempDir(), "readings")
			f.bubble(c.rows, func() {
				first := f.open(func(d *device.Config) {
					d.File = file
					d.Wall = func() time.Time { return f.now().Add(c.wrong) }
				})
				for range 10 {
					time.Sleep(time.Minute)
					f.mustSend(first)
				}
				f.close(first)
				time.Sleep(time.Minute)
				f.mustSend(f.start(func(d *device.Config) { d.File = file }))
			})
			if n := f.reported(device.Timeless); n != 11-c.rows {
				t.Errorf("%d reports: %v", n, f.reports)
			}
		})
	}
}

// TestTimesOfARunLieBeforeTheNextOne: a clock is ahead. The next run learns the time and gets no token, and the last
// one starts when what the first run's clock said is in the past.
func TestTimesOfARunLieBeforeTheNextOne(t *testing.T) {
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "readings")
	run := func(clock time.Duration) func(*device.Config) {
		return func(d *device.Config) {
			d.File, d.Wall = file, func() time.Time { return f.now().Add(clock) }
		}
	}
	f.bubble(0, func() {
		first := f.open(run(10 * time.Minute))
		f.mustSend(first)
		f.close(first)
		f.set(func(f *fixture) {
			f.refuse = func(time.Time) *problem { return &problem{Status: 403, Code: "enrollment-disabled"} }
		})
		second := f.start(run(-24 * time.Hour))
		time.Sleep(time.Minute)
		f.close(second)
		f.set(func(f *fixture) { f.refuse = nil })
		time.Sleep(time.Hour)
		f.start(run(0))
	})
	if n := f.reported(device.Timeless); n != 1 {
		t.Errorf("%d reports: %v", n, f.reports)
	}
}

// A captive portal or a proxy responds instead of storage.
func TestOnlyResponsesOfStorageCount(t *testing.T) {
	f := newFixture(t)
	f.bubble(12, func() {
		for _, status := range []int{200, 202, 302, 400, 409, 502} {
			f.set(func(f *fixture) {
				f.storage = func(req *http.Request) *http.Response {
					return &http.Response{StatusCode: status, Request: req,
						Header: http.Header{"Content-Type": {"text/html"}, "Location": {"http://portal.test/"}},
						Body:   io.NopCloser(strings.NewReader("<html>Welcome</html>"))}
				}
			})
			c := f.open(nil)
			f.mustSend(c)
			f.mustSend(c)
			f.run(c)
			time.Sleep(10 * time.Minute)
			if stats := c.Stats(); stats.Waiting != 2 || stats.Err == nil {
				t.Errorf("%d: %+v", status, stats)
			}
			f.set(func(f *fixture) { f.storage = nil })
			f.flush(c)
			f.close(c)
		}
	})
}

func TestErrorsDoNotContainTheToken(t *testing.T) {
	f := newFixture(t)
	f.bubble(0, func() {
		c := f.start(func(c *device.Config) {
			c.Transport = faults.Func(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, f.name) {
					return nil, io.ErrUnexpectedEOF
				}
				return f.RoundTrip(req)
			})
		})
		if err := c.Send(device.Reading{Values: map[string]any{"N": 1}}); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if err := c.Stats().Err; err == nil || strings.Contains(err.Error(), "sig") || strings.Contains(err.Error(), "?") {
			t.Errorf("%v", err)
		}
		f.close(c)
	})
}
