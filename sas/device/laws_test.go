package device_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas/device"
)

func TestRevokedDeviceKeepsItsReadingsAndAsksSlowly(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		f.set(func(f *fixture) {
			f.refuse = func(time.Time) *problem { return &problem{Status: 403, Code: "revoked"} }
		})
		c := f.open(nil)
		stop := f.run(c)
		for range 120 {
			f.mustSend(c)
			time.Sleep(time.Minute)
		}
		if n, _ := f.counts(); n < 120*2/15 || n > 120*4/15 {
			t.Errorf("asked %d times in two hours", n)
		}
		if stats := c.Stats(); f.reports.of(device.Denied) != 1 || stats.Err == nil || stats.Waiting != 120 {
			t.Errorf("%+v, %v", stats, f.reports.all)
		}
		f.set(func(f *fixture) { f.refuse = nil })
		time.Sleep(10 * time.Minute)
		f.flush(c)
		if err := c.Stats().Err; err != nil {
			t.Error(err)
		}
		stop()
	})
	// The first readings are taken before the device knows the time.
	if n := f.check(true); n != 120 {
		t.Errorf("%d rows", n)
	}
}

func TestRevokedTokenIsReplacedAtOnce(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		c := f.open(nil)
		stop := f.run(c)
		f.mustSend(c)
		f.flush(c)
		f.set(func(f *fixture) { f.revoked[f.tokens[0]] = true })
		time.Sleep(time.Minute) // tokens of the same second are equal
		before := time.Now()
		f.mustSend(c)
		f.flush(c)
		if _, n := f.counts(); n != 2 || time.Since(before) != 0 || len(f.reports.all) != 0 {
			t.Errorf("%d tokens, %s, %v", n, time.Since(before), f.reports.all)
		}
		stop()
	})
	if n := f.check(true); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestStorageThatRefusesEveryTokenIsNotFlooded(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		f.set(func(f *fixture) {
			f.storage = func(*http.Request) *http.Response { return odata(403, "AuthenticationFailed") }
		})
		c := f.open(nil)
		stop := f.run(c)
		for range 180 {
			f.mustSend(c)
			time.Sleep(time.Minute)
		}
		if _, n := f.counts(); n > 400 || n < 90 || f.reports.of(device.Denied) != 1 {
			t.Errorf("%d tokens in three hours; %v", n, f.reports.all)
		}
		f.set(func(f *fixture) { f.storage = nil })
		f.flush(c)
		stop()
	})
	if n := f.check(true); n != 180 {
		t.Errorf("%d rows", n)
	}
}

func TestRowsOutsideTheWindowDoNotBlockOthers(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		c := f.open(nil)
		f.now()
		for i := range 50 {
			reading := device.Reading{Values: map[string]any{"N": 1000 + i}}
			switch i % 10 {
			case 3:
				reading.Time = f.now().Add(-8 * 24 * time.Hour)
			case 7:
				reading.Time = f.now().Add(24 * time.Hour)
			}
			if !reading.Time.IsZero() {
				if err := c.Send(reading); err != nil {
					t.Error(err)
				}
			}
			f.mustSend(c)
		}
		stop := f.run(c)
		f.flush(c)
		if stats := c.Stats(); f.reports.of(device.OutsideWindow) != 10 || stats.SetAside != 10 || stats.Stored != 50 {
			t.Errorf("%+v, %v", stats, f.reports.all)
		}
		stop()
	})
	if n := f.check(true); n != 50 {
		t.Errorf("%d rows", n)
	}
	for _, r := range f.reports.all {
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
			synctest.Test(t, func(t *testing.T) {
				f.set(func(f *fixture) {
					f.storage = func(req *http.Request) *http.Response {
						b, _ := req.GetBody()
						body, _ := io.ReadAll(b)
						rows := strings.Split(string(body), "PartitionKey")[1:]
						for i, r := range rows {
							if !strings.Contains(r, `"N":7,`) && !strings.Contains(r, `"N":12,`) {
								continue
							}
							switch {
							case len(rows) == 1:
								return odata(400, "PropertyValueTooLarge")
							case indexed:
								return refused(fmt.Sprintf("%d:", i))
							}
							return refused("")
						}
						return nil
					}
				})
				c := f.open(nil)
				for range 20 {
					f.mustSend(c)
				}
				stop := f.run(c)
				f.flush(c)
				stop()
			})
			told := f.reports.numbers()
			if n := f.check(true); n != 18 || told[7] != device.Rejected || told[12] != device.Rejected || len(told) != 2 {
				t.Errorf("%d rows, %v", n, told)
			}
		})
	}
}

func TestLostResponseOfATransactionCostsOneMoreRequest(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		lost := false
		c := f.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
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
		stop := f.run(c)
		f.flush(c)
		stop()
	})
	if n := f.check(true); n != 100 || strings.Join(f.sent, ", ") != "$batch 100, $batch 100" {
		t.Errorf("%d rows by %v", n, f.sent)
	}
}

type round func(*http.Request) (*http.Response, error)

func (r round) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func TestSeveralReadingsShareATransaction(t *testing.T) {
	f := newFixture(t)
	f.batch = 10
	synctest.Test(t, func(t *testing.T) {
		c := f.open(nil)
		stop := f.run(c)
		f.mustSend(c)
		f.flush(c)
		stop()
		for range 25 {
			f.mustSend(c)
		}
		stop = f.run(c)
		f.flush(c)
		stop()
	})
	want := f.name + " 1, $batch 10, $batch 10, $batch 5"
	if n := f.check(true); n != 26 || strings.Join(f.sent, ", ") != want {
		t.Errorf("%d rows by %v, want %s", n, f.sent, want)
	}
}

func TestTransactionsAreLimitedTo3MiB(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		var longest int64
		c := f.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
				longest = max(longest, req.ContentLength)
				return f.RoundTrip(req)
			})
		})
		text := strings.Repeat("x", 32<<10)
		for i := range 60 {
			if err := c.Send(device.Reading{Values: map[string]any{"N": int32(i), "A": text, "B": text}}); err != nil {
				t.Fatal(err)
			}
		}
		stop := f.run(c)
		f.flush(c)
		stop()
		if longest > 3<<20 || longest < 2<<20 {
			t.Errorf("the longest request has %d bytes", longest)
		}
	})
	if n, _ := f.rows(); len(n) != 60 {
		t.Errorf("%d rows", len(n))
	}
}

func TestFullBufferRefusesTheNewestOrDropsTheOldest(t *testing.T) {
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprint(drop), func(t *testing.T) {
			f := newFixture(t)
			synctest.Test(t, func(t *testing.T) {
				c := f.open(func(c *device.Config) { c.MaxBytes, c.DropOldest = 2000, drop })
				refusals := 0
				for range 100 {
					if err := f.send(c); err != nil {
						refusals++
						if !strings.Contains(err.Error(), "buffer is full") {
							t.Error(err)
						}
					}
					if stats := c.Stats(); stats.Bytes > 2000 {
						t.Errorf("%+v", stats)
					}
				}
				if drop != (refusals == 0) || drop != (f.reports.of(device.Dropped) > 50) {
					t.Errorf("%d refusals, %d reports", refusals, f.reports.of(device.Dropped))
				}
				stop := f.run(c)
				f.flush(c)
				f.mustSend(c)
				f.flush(c)
				stop()
			})
			if n := f.check(true); n < 10 || n > 30 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		f.set(func(f *fixture) {
			f.refuse = func(time.Time) *problem {
				switch len(f.asked) {
				case 1:
					return &problem{Status: 429, Code: "too-many-requests", header: http.Header{"Retry-After": {"120"}}}
				case 2:
					return &problem{Status: 503, Code: "not-ready", RetryAfter: 60}
				case 3:
					return &problem{Status: 503, Code: "storage-busy", header: http.Header{
						"Retry-After": {"Sat, 21 Nov 2026 12:10:00 GMT"}, "Date": {"Sat, 21 Nov 2026 12:00:00 GMT"}}}
				}
				return nil
			}
		})
		c := f.open(nil)
		stop := f.run(c)
		f.mustSend(c)
		f.flush(c)
		stop()
	})
	for i, want := range []time.Duration{2 * time.Minute, time.Minute, 10 * time.Minute} {
		if got := f.asked[i+1].Sub(f.asked[i]); got < want || got > want+10*time.Second {
			t.Errorf("asked again after %s, want %s", got, want)
		}
	}
	f.check(true)
}

func TestRenewalsAreSpreadOverTheirWindow(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		c := f.open(nil)
		stop := f.run(c)
		for range 20 * 60 {
			time.Sleep(2 * time.Minute)
			if err := c.Send(device.Reading{Values: map[string]any{"N": 1}}); err != nil {
				t.Error(err)
			}
		}
		f.flush(c)
		stop()
	})
	minutes := map[int]int{}
	for i := range len(f.asked) - 1 {
		gap := f.asked[i+1].Sub(f.asked[i])
		if gap < 40*time.Minute || gap > 52*time.Minute {
			t.Errorf("renewed after %s", gap)
		}
		minutes[int(gap/time.Minute)]++
	}
	if len(minutes) < 4 {
		t.Errorf("renewals are not spread: %v", minutes)
	}
}

func TestValidTokenIsUsedWhileTheEndpointIsDown(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		c := f.open(nil)
		stop := f.run(c)
		f.mustSend(c)
		f.flush(c)
		f.set(func(f *fixture) {
			f.refuse = func(time.Time) *problem { return &problem{Status: 500, Code: "internal"} }
		})
		for range 58 {
			time.Sleep(time.Minute)
			f.mustSend(c)
			synctest.Wait()
			if n := c.Stats().Waiting; n != 0 {
				t.Errorf("%d wait", n)
			}
		}
		time.Sleep(10 * time.Minute)
		f.mustSend(c)
		synctest.Wait()
		if n := c.Stats().Waiting; n != 1 {
			t.Errorf("%d wait", n)
		}
		f.set(func(f *fixture) { f.refuse = nil })
		f.flush(c)
		stop()
	})
	if n := f.check(true); n != 60 {
		t.Errorf("%d rows", n)
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
			synctest.Test(t, func(t *testing.T) {
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
				second := f.open(func(d *device.Config) { d.File = file })
				stop := f.run(second)
				f.mustSend(second)
				f.flush(second)
				stop()
				f.close(second)
			})
			if n := f.check(true); n != c.rows || f.reports.of(device.Timeless) != 11-c.rows {
				t.Errorf("%d rows, %v", n, f.reports.all)
			}
		})
	}
}

// A captive portal or a proxy responds instead of storage.
func TestOnlyResponsesOfStorageCount(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []int{200, 202, 302, 400, 409, 502} {
			f.set(func(f *fixture) {
				f.storage = func(*http.Request) *http.Response {
					return &http.Response{StatusCode: status,
						Header: http.Header{"Content-Type": {"text/html"}, "Location": {"http://portal.test/"}},
						Body:   io.NopCloser(strings.NewReader("<html>Welcome</html>"))}
				}
			})
			c := f.open(nil)
			f.mustSend(c)
			f.mustSend(c)
			stop := f.run(c)
			time.Sleep(10 * time.Minute)
			if stats := c.Stats(); stats.Waiting != 2 || stats.Err == nil {
				t.Errorf("%d: %+v", status, stats)
			}
			f.set(func(f *fixture) { f.storage = nil })
			f.flush(c)
			stop()
		}
	})
	if n := f.check(true); n != 12 {
		t.Errorf("%d rows", n)
	}
}

func TestErrorsDoNotContainTheToken(t *testing.T) {
	f := newFixture(t)
	var c *device.Client
	synctest.Test(t, func(t *testing.T) {
		c = f.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, f.name) {
					return nil, io.ErrUnexpectedEOF
				}
				return f.RoundTrip(req)
			})
		})
		f.mustSend(c)
		stop := f.run(c)
		time.Sleep(time.Minute)
		stop()
	})
	if err := c.Stats().Err; err == nil || strings.Contains(err.Error(), "sig") || strings.Contains(err.Error(), f.name) {
		t.Errorf("%v", err)
	}
}
