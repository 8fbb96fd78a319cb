package device_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/faults"
)

func TestDeviceOfflineForThreeDaysLosesNothing(t *testing.T) {
	s := newStory(t)
	file := filepath.Join(t.TempDir(), "readings")
	inFile := func(c *device.Config) { c.File = file }
	synctest.Test(t, func(t *testing.T) {
		c := s.open(inFile)
		stop := s.run(c)
		s.mustSend(c)
		s.flush(c)
		s.set(func(w *world) { w.offline = true })
		for day := range 3 {
			for range 144 {
				time.Sleep(10 * time.Minute)
				s.mustSend(c)
			}
			if day == 1 { // the power goes, and comes again
				stop()
				s.close(c)
				c = s.open(inFile)
				stop = s.run(c)
			}
		}
		s.set(func(w *world) { w.offline = false })
		s.flush(c)
		stop()
		s.close(c)
	})
	if n := s.check(true); n != 433 {
		t.Errorf("%d rows", n)
	}
	if n := len(s.sent); n > 10 {
		t.Errorf("433 rows took %d requests", n)
	}
}

func TestClockOf1970IsSetRight(t *testing.T) {
	s := newStory(t)
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now()
		c := s.open(func(c *device.Config) {
			c.Wall = func() time.Time { return time.Unix(0, 0).Add(time.Since(booted)) }
			c.File = filepath.Join(t.TempDir(), "readings")
		})
		for range 20 {
			time.Sleep(time.Minute)
			s.mustSend(c)
		}
		stop := s.run(c)
		s.flush(c)
		s.mustSend(c)
		s.flush(c)
		if !c.Stats().TimeKnown {
			t.Error("the time is not known")
		}
		stop()
		s.close(c)
	})
	if n := s.check(true); n != 21 || len(s.proofs) != 1 || len(s.asked) != 2 {
		t.Errorf("%d rows, refused proofs %v, asked %d times", n, s.proofs, len(s.asked))
	}
}

func TestClockThatJumpsBackAnHourChangesNothing(t *testing.T) {
	s := newStory(t)
	file := filepath.Join(t.TempDir(), "readings")
	synctest.Test(t, func(t *testing.T) {
		jump := time.Duration(0)
		change := func(c *device.Config) {
			c.File = file
			c.Wall = func() time.Time { return s.now().Add(jump) }
		}
		c := s.open(change)
		stop := s.run(c)
		for i := range 300 {
			time.Sleep(time.Minute)
			switch i {
			case 100: // while it runs
				jump = -time.Hour
			case 150: // between two runs
				stop()
				s.close(c)
				jump = -2 * time.Hour
				c = s.open(change)
				stop = s.run(c)
			case 200:
				jump = time.Hour
			}
			s.mustSend(c)
		}
		s.flush(c)
		stop()
		s.close(c)
	})
	if n := s.check(true); n != 300 {
		t.Errorf("%d rows", n)
	}
}

// Each fault befalls each of the first requests once.
func TestCutInTheMiddleOfEveryRequestEndsInEachReadingOnce(t *testing.T) {
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Cut, faults.Twice, faults.TimedOutDone, faults.ServerBusy, faults.Late, faults.Stalled} {
		t.Run(string(fault), func(t *testing.T) {
			s := newStory(t)
			synctest.Test(t, func(t *testing.T) {
				for n := range 6 {
					cut := &faults.Transport{Next: s.world, Plan: faults.Script{n: fault, n + 1: fault}, Delay: 2 * time.Minute}
					c := s.open(func(c *device.Config) { c.Transport = cut })
					for range 7 {
						s.mustSend(c)
					}
					stop := s.run(c)
					for range 30 {
						time.Sleep(time.Second)
						s.mustSend(c)
					}
					s.flush(c)
					if len(cut.Injected()) == 0 {
						t.Error("nothing happened")
					}
					stop()
					s.close(c)
				}
			})
			if n := s.check(false); n != 6*37 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

// The power goes at any moment, on a bad line.
func TestPowerCutsOnABadLineEndInEachReadingOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newStory(t)
	file := filepath.Join(t.TempDir(), "readings")
	synctest.Test(t, func(t *testing.T) {
		bad := &faults.Transport{Next: s.world, Delay: time.Minute, Plan: faults.Random{Seed: seed, Rates: map[faults.Fault]float64{
			faults.AnswerLost: 0.2, faults.Cut: 0.1, faults.Twice: 0.1, faults.TimedOutDone: 0.1, faults.ServerBusy: 0.1, faults.Late: 0.1}}}
		for range 30 {
			c := s.open(func(c *device.Config) { c.File, c.Transport = file, bad })
			stop := s.run(c)
			for range random.IntN(40) {
				time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
				s.mustSend(c)
			}
			stop()
			s.close(c)
			time.Sleep(time.Duration(random.Int64N(int64(time.Hour))))
		}
		c := s.open(func(c *device.Config) { c.File = file })
		stop := s.run(c)
		s.flush(c)
		stop()
		s.close(c)
	})
	if n := s.check(false); n != len(s.accepted) {
		t.Errorf("%d rows of %d: %v", n, len(s.accepted), s.reports.numbers())
	}
}

func TestTwoProcessesUnderOneIDNeverCollide(t *testing.T) {
	s := newStory(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var clients []*device.Client
		var stops []func()
		for i := range 2 {
			c := s.open(func(c *device.Config) { c.File = filepath.Join(dir, fmt.Sprint(i)) })
			clients, stops = append(clients, c), append(stops, s.run(c))
		}
		for range 100 {
			for _, c := range clients { // in one tick, all of them
				s.mustSend(c)
				s.mustSend(c)
			}
			time.Sleep(time.Second)
		}
		for i, c := range clients {
			s.flush(c)
			stops[i]()
			s.close(c)
		}
		for _, c := range clients {
			if stats := c.Stats(); stats.Stored != 200 {
				t.Errorf("%+v", stats)
			}
		}
	})
	if n := s.check(false); n != 400 {
		t.Errorf("%d rows", n)
	}
}
