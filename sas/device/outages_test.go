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
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "readings")
	inFile := func(c *device.Config) { c.File = file }
	synctest.Test(t, func(t *testing.T) {
		c := f.open(inFile)
		stop := f.run(c)
		f.mustSend(c)
		f.flush(c)
		f.set(func(f *fixture) { f.offline = true })
		for day := range 3 {
			for range 144 {
				time.Sleep(10 * time.Minute)
				f.mustSend(c)
			}
			if day == 1 { // a power cut
				stop()
				f.close(c)
				c = f.open(inFile)
				stop = f.run(c)
			}
		}
		f.set(func(f *fixture) { f.offline = false })
		f.flush(c)
		stop()
		f.close(c)
	})
	if n := f.check(true); n != 433 {
		t.Errorf("%d rows", n)
	}
	if n := len(f.sent); n > 10 {
		t.Errorf("433 rows took %d requests", n)
	}
}

func TestClockOf1970IsCorrected(t *testing.T) {
	f := newFixture(t)
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now()
		c := f.open(func(c *device.Config) {
			c.Wall = func() time.Time { return time.Unix(0, 0).Add(time.Since(booted)) }
			c.File = filepath.Join(t.TempDir(), "readings")
		})
		for range 20 {
			time.Sleep(time.Minute)
			f.mustSend(c)
		}
		stop := f.run(c)
		f.flush(c)
		f.mustSend(c)
		f.flush(c)
		if !c.Stats().TimeKnown {
			t.Error("the time is not known")
		}
		stop()
		f.close(c)
	})
	if n := f.check(true); n != 21 || len(f.proofs) != 1 || len(f.asked) != 2 {
		t.Errorf("%d rows, refused proofs %v, asked %d times", n, f.proofs, len(f.asked))
	}
}

func TestClockThatJumpsBackAnHourChangesNothing(t *testing.T) {
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "readings")
	synctest.Test(t, func(t *testing.T) {
		jump := time.Duration(0)
		change := func(c *device.Config) {
			c.File = file
			c.Wall = func() time.Time { return f.now().Add(jump) }
		}
		c := f.open(change)
		stop := f.run(c)
		for i := range 300 {
			time.Sleep(time.Minute)
			switch i {
			case 100: // while the client runs
				jump = -time.Hour
			case 150: // between two runs
				stop()
				f.close(c)
				jump = -2 * time.Hour
				c = f.open(change)
				stop = f.run(c)
			case 200:
				jump = time.Hour
			}
			f.mustSend(c)
		}
		f.flush(c)
		stop()
		f.close(c)
	})
	if n := f.check(true); n != 300 {
		t.Errorf("%d rows", n)
	}
}

// Each fault hits each of the first requests once.
func TestFaultsOfAnyRequestStoreEachReadingOnce(t *testing.T) {
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Cut, faults.Twice, faults.TimedOutDone,
		faults.ServerBusy, faults.Late, faults.Stalled} {
		t.Run(string(fault), func(t *testing.T) {
			f := newFixture(t)
			synctest.Test(t, func(t *testing.T) {
				for n := range 6 {
					cut := &faults.Transport{Next: f, Plan: faults.Script{n: fault, n + 1: fault}, Delay: 2 * time.Minute}
					c := f.open(func(c *device.Config) { c.Transport = cut })
					for range 7 {
						f.mustSend(c)
					}
					stop := f.run(c)
					for range 30 {
						time.Sleep(time.Second)
						f.mustSend(c)
					}
					f.flush(c)
					if len(cut.Injected()) == 0 {
						t.Error("no fault was injected")
					}
					stop()
					f.close(c)
				}
			})
			if n := f.check(false); n != 6*37 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

// Power cuts at any moment, on an unreliable network.
func TestPowerCutsAndFaultsStoreEachReadingOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "readings")
	synctest.Test(t, func(t *testing.T) {
		bad := &faults.Transport{Next: f, Delay: time.Minute, Plan: faults.Random{Seed: seed, Rates: map[faults.Fault]float64{
			faults.AnswerLost: 0.2, faults.Cut: 0.1, faults.Twice: 0.1, faults.TimedOutDone: 0.1, faults.ServerBusy: 0.1,
			faults.Late: 0.1}}}
		for range 30 {
			c := f.open(func(c *device.Config) { c.File, c.Transport = file, bad })
			stop := f.run(c)
			for range random.IntN(40) {
				time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
				f.mustSend(c)
			}
			stop()
			f.close(c)
			time.Sleep(time.Duration(random.Int64N(int64(time.Hour))))
		}
		c := f.open(func(c *device.Config) { c.File = file })
		stop := f.run(c)
		f.flush(c)
		stop()
		f.close(c)
	})
	if n := f.check(false); n != len(f.accepted) {
		t.Errorf("%d rows of %d: %v", n, len(f.accepted), f.reports.numbers())
	}
}

func TestTwoProcessesUnderOneIDNeverCollide(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var clients []*device.Client
		var stops []func()
		for i := range 2 {
			c := f.open(func(c *device.Config) { c.File = filepath.Join(dir, fmt.Sprint(i)) })
			clients, stops = append(clients, c), append(stops, f.run(c))
		}
		for range 100 {
			for _, c := range clients { // all in one tick
				f.mustSend(c)
				f.mustSend(c)
			}
			time.Sleep(time.Second)
		}
		for i, c := range clients {
			f.flush(c)
			stops[i]()
			f.close(c)
		}
		for _, c := range clients {
			if stats := c.Stats(); stats.Stored != 200 {
				t.Errorf("%+v", stats)
			}
		}
	})
	if n := f.check(false); n != 400 {
		t.Errorf("%d rows", n)
	}
}
