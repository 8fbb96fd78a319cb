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
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		s.set(func(w *world) {
			w.refuse = func(time.Time) *problem { return &problem{Status: 403, Code: "revoked"} }
		})
		c := s.open(nil)
		stop := s.run(c)
		for range 120 {
			s.mustSend(c)
			time.Sleep(time.Minute)
		}
		if n, _ := s.counts(); n < 120*2/15 || n > 120*4/15 {
			t.Errorf("asked %d times in two hours", n)
		}
		if stats := c.Stats(); s.reports.of(device.Denied) != 1 || stats.Err == nil || stats.Waiting != 120 {
			t.Errorf("%+v, %v", stats, s.reports.all)
		}
		s.set(func(w *world) { w.refuse = nil })
		time.Sleep(10 * time.Minute)
		s.flush(c)
		if err := c.Stats().Err; err != nil {
			t.Error(err)
		}
		stop()
	})
	// The first readings were taken before the device knew the time.
	if n := s.check(true); n != 120 {
		t.Errorf("%d rows", n)
	}
}

func TestRefusedTokenIsReplacedAtOnce(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		c := s.open(nil)
		stop := s.run(c)
		s.mustSend(c)
		s.flush(c)
		s.set(func(w *world) { w.revoked[w.tokens[0]] = true })
		time.Sleep(time.Minute) // tokens of one second are equal
		before := time.Now()
		s.mustSend(c)
		s.flush(c)
		if _, n := s.counts(); n != 2 || time.Since(before) != 0 || len(s.reports.all) != 0 {
			t.Errorf("%d tokens, %s, %v", n, time.Since(before), s.reports.all)
		}
		stop()
	})
	if n := s.check(true); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestStorageThatRefusesEveryTokenIsNotStormed(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		s.set(func(w *world) {
			w.storage = func(*http.Request) *http.Response { return odata(403, "AuthenticationFailed") }
		})
		c := s.open(nil)
		stop := s.run(c)
		for range 180 {
			s.mustSend(c)
			time.Sleep(time.Minute)
		}
		if _, n := s.counts(); n > 400 || n < 90 || s.reports.of(device.Denied) != 1 {
			t.Errorf("%d tokens in three hours; %v", n, s.reports.all)
		}
		s.set(func(w *world) { w.storage = nil })
		s.flush(c)
		stop()
	})
	if n := s.check(true); n != 180 {
		t.Errorf("%d rows", n)
	}
}

func TestRowsOutsideTheWindowBlockNobody(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		c := s.open(nil)
		s.now()
		for i := range 50 {
			reading := device.Reading{Values: map[string]any{"N": 1000 + i}}
			switch i % 10 {
			case 3:
				reading.Time = s.now().Add(-8 * 24 * time.Hour)
			case 7:
				reading.Time = s.now().Add(24 * time.Hour)
			}
			if !reading.Time.IsZero() {
				if err := c.Send(reading); err != nil {
					t.Error(err)
				}
			}
			s.mustSend(c)
		}
		stop := s.run(c)
		s.flush(c)
		if stats := c.Stats(); s.reports.of(device.OutsideWindow) != 10 || stats.SetAside != 10 || stats.Stored != 50 {
			t.Errorf("%+v, %v", stats, s.reports.all)
		}
		stop()
	})
	if n := s.check(true); n != 50 {
		t.Errorf("%d rows", n)
	}
	for _, r := range s.reports.all {
		if r.Key == "" || r.Time.IsZero() || !strings.Contains(r.Err.Error(), "token admits") {
			t.Errorf("%+v", r)
		}
	}
}

// refused is the answer to a transaction one of whose rows is bad.
func refused(index string) *http.Response {
	body := "--a\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
		"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" +
		`{"odata.error":{"code":"PropertyValueTooLarge","message":{"lang":"en-US","value":"` + index + `It is too large.\nRequestId:x"}}}` + "\r\n--b--\r\n--a--\r\n"
	return &http.Response{StatusCode: 202, Header: http.Header{"Content-Type": {"multipart/mixed; boundary=a"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// Storage names the bad row of a transaction, or does not.
func TestRejectedRowsAreSetAsideAndTheOthersStored(t *testing.T) {
	for name, indexed := range map[string]bool{"named": true, "not named": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			synctest.Test(t, func(t *testing.T) {
				s.set(func(w *world) {
					w.storage = func(req *http.Request) *http.Response {
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
				c := s.open(nil)
				for range 20 {
					s.mustSend(c)
				}
				stop := s.run(c)
				s.flush(c)
				stop()
			})
			told := s.reports.numbers()
			if n := s.check(true); n != 18 || told[7] != device.Rejected || told[12] != device.Rejected || len(told) != 2 {
				t.Errorf("%d rows, %v", n, told)
			}
		})
	}
}

func TestLostAnswerOfATransactionCostsOneMoreRequest(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		lost := false
		c := s.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				if !lost && strings.HasSuffix(req.URL.Path, "$batch") {
					lost = true
					return nil, io.ErrUnexpectedEOF
				}
				return resp, err
			})
		})
		for range 100 {
			s.mustSend(c)
		}
		stop := s.run(c)
		s.flush(c)
		stop()
	})
	if n := s.check(true); n != 100 || strings.Join(s.sent, ", ") != "$batch 100, $batch 100" {
		t.Errorf("%d rows by %v", n, s.sent)
	}
}

type round func(*http.Request) (*http.Response, error)

func (r round) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func TestOneIsSentAloneAndManyTogether(t *testing.T) {
	s := newStory(t)
	s.batch = 10
	synctest.Test(t, func(t *testing.T) {
		c := s.open(nil)
		stop := s.run(c)
		s.mustSend(c)
		s.flush(c)
		stop()
		for range 25 {
			s.mustSend(c)
		}
		stop = s.run(c)
		s.flush(c)
		stop()
	})
	want := s.name + " 1, $batch 10, $batch 10, $batch 5"
	if n := s.check(true); n != 26 || strings.Join(s.sent, ", ") != want {
		t.Errorf("%d rows by %v, want %s", n, s.sent, want)
	}
}

func TestTransactionsAreCutAt3MiB(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		var longest int64
		c := s.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
				longest = max(longest, req.ContentLength)
				return s.RoundTrip(req)
			})
		})
		text := strings.Repeat("x", 32<<10)
		for i := range 60 {
			if err := c.Send(device.Reading{Values: map[string]any{"N": int32(i), "A": text, "B": text}}); err != nil {
				t.Fatal(err)
			}
		}
		stop := s.run(c)
		s.flush(c)
		stop()
		if longest > 3<<20 || longest < 2<<20 {
			t.Errorf("the longest request has %d bytes", longest)
		}
	})
	if n, _ := s.rows(); len(n) != 60 {
		t.Errorf("%d rows", len(n))
	}
}

func TestFullBufferRefusesTheNewestOrDropsTheOldest(t *testing.T) {
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprint(drop), func(t *testing.T) {
			s := newStory(t)
			synctest.Test(t, func(t *testing.T) {
				c := s.open(func(c *device.Config) { c.MaxBytes, c.DropOldest = 2000, drop })
				refusals := 0
				for range 100 {
					if err := s.send(c); err != nil {
						refusals++
						if !strings.Contains(err.Error(), "buffer is full") {
							t.Error(err)
						}
					}
					if stats := c.Stats(); stats.Bytes > 2000 {
						t.Errorf("%+v", stats)
					}
				}
				if drop != (refusals == 0) || drop != (s.reports.of(device.Dropped) > 50) {
					t.Errorf("%d refusals, %d reports", refusals, s.reports.of(device.Dropped))
				}
				stop := s.run(c)
				s.flush(c)
				s.mustSend(c)
				s.flush(c)
				stop()
			})
			if n := s.check(true); n < 10 || n > 30 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		s.set(func(w *world) {
			w.refuse = func(time.Time) *problem {
				switch len(w.asked) {
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
		c := s.open(nil)
		stop := s.run(c)
		s.mustSend(c)
		s.flush(c)
		stop()
	})
	for i, want := range []time.Duration{2 * time.Minute, time.Minute, 10 * time.Minute} {
		if got := s.asked[i+1].Sub(s.asked[i]); got < want || got > want+10*time.Second {
			t.Errorf("asked again after %s, want %s", got, want)
		}
	}
	s.check(true)
}

func TestRenewalsAreSpreadOverTheirWindow(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		c := s.open(nil)
		stop := s.run(c)
		for range 20 * 60 {
			time.Sleep(2 * time.Minute)
			if err := c.Send(device.Reading{Values: map[string]any{"N": 1}}); err != nil {
				t.Error(err)
			}
		}
		s.flush(c)
		stop()
	})
	minutes := map[int]int{}
	for i := range len(s.asked) - 1 {
		gap := s.asked[i+1].Sub(s.asked[i])
		if gap < 40*time.Minute || gap > 52*time.Minute {
			t.Errorf("renewed after %s", gap)
		}
		minutes[int(gap/time.Minute)]++
	}
	if len(minutes) < 4 {
		t.Errorf("renewals are not spread: %v", minutes)
	}
}

func TestLivingTokenServesWhileTheEndpointIsDown(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		c := s.open(nil)
		stop := s.run(c)
		s.mustSend(c)
		s.flush(c)
		s.set(func(w *world) {
			w.refuse = func(time.Time) *problem { return &problem{Status: 500, Code: "internal"} }
		})
		for range 58 {
			time.Sleep(time.Minute)
			s.mustSend(c)
			synctest.Wait()
			if n := c.Stats().Waiting; n != 0 {
				t.Errorf("%d wait", n)
			}
		}
		time.Sleep(10 * time.Minute)
		s.mustSend(c)
		synctest.Wait()
		if n := c.Stats().Waiting; n != 1 {
			t.Errorf("%d wait", n)
		}
		s.set(func(w *world) { w.refuse = nil })
		s.flush(c)
		stop()
	})
	if n := s.check(true); n != 60 {
		t.Errorf("%d rows", n)
	}
}

// The power goes before the device ever knew the time. The next run goes by the
// device's own clock, unless that cannot have been right.
func TestReadingsOfARunThatNeverKnewTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		wrong time.Duration // the first run's clock
		rows  int
	}{
		"a clock that was right": {0, 11},
		"a clock of 1970":        {-56 * 365 * 24 * time.Hour, 1},
		"a clock ahead":          {24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			file := filepath.Join(t.TempDir(), "readings")
			synctest.Test(t, func(t *testing.T) {
				first := s.open(func(d *device.Config) {
					d.File = file
					d.Wall = func() time.Time { return s.now().Add(c.wrong) }
				})
				for range 10 {
					time.Sleep(time.Minute)
					s.mustSend(first)
				}
				s.close(first)
				time.Sleep(time.Minute)
				second := s.open(func(d *device.Config) { d.File = file })
				stop := s.run(second)
				s.mustSend(second)
				s.flush(second)
				stop()
				s.close(second)
			})
			if n := s.check(true); n != c.rows || s.reports.of(device.Timeless) != 11-c.rows {
				t.Errorf("%d rows, %v", n, s.reports.all)
			}
		})
	}
}

// A portal of a hotel or a proxy answers for storage.
func TestOnlyStorageSaysThatARowIsStored(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []int{200, 202, 302, 400, 409, 502} {
			s.set(func(w *world) {
				w.storage = func(*http.Request) *http.Response {
					return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/html"}, "Location": {"http://portal.test/"}},
						Body: io.NopCloser(strings.NewReader("<html>Welcome</html>"))}
				}
			})
			c := s.open(nil)
			s.mustSend(c)
			s.mustSend(c)
			stop := s.run(c)
			time.Sleep(10 * time.Minute)
			if stats := c.Stats(); stats.Waiting != 2 || stats.Err == nil {
				t.Errorf("%d: %+v", status, stats)
			}
			s.set(func(w *world) { w.storage = nil })
			s.flush(c)
			stop()
		}
	})
	if n := s.check(true); n != 12 {
		t.Errorf("%d rows", n)
	}
}

func TestErrorsDoNotHoldTheToken(t *testing.T) {
	s := newStory(t)
	var c *device.Client
	synctest.Test(t, func(t *testing.T) {
		c = s.open(func(c *device.Config) {
			c.Transport = round(func(req *http.Request) (*http.Response, error) {
				if strings.HasSuffix(req.URL.Path, s.name) {
					return nil, io.ErrUnexpectedEOF
				}
				return s.RoundTrip(req)
			})
		})
		s.mustSend(c)
		stop := s.run(c)
		time.Sleep(time.Minute)
		stop()
	})
	if err := c.Stats().Err; err == nil || strings.Contains(err.Error(), "sig") || strings.Contains(err.Error(), s.name) {
		t.Errorf("%v", err)
	}
}
