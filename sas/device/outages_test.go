package device_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"furrow/sas/device"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
)

func TestDeviceOfflineForThreeDaysLosesNothing(t *testing.T) {
	f := newFixture(t)
	inFile := fileIn(t)
	f.bubble(433, func() {
		c := f.start(inFile)
		f.mustStore(c)
		f.set(func(f *fixture) { f.offline = true })
		for day := range 3 {
			for range 144 {
				time.Sleep(10 * time.Minute)
				f.mustSend(c)
			}
			if day == 1 { // a power cut
				f.close(c)
				c = f.start(inFile)
			}
		}
		f.set(func(f *fixture) { f.offline = false })
	})
	if n := len(f.sent); n > 10 {
		t.Errorf("433 rows took %d requests", n)
	}
}

// fileIn returns a change to a client's config: the same file for each client.
func fileIn(t *testing.T) func(*device.Config) {
	file := filepath.Join(t.TempDir(), "readings")
	return func(c *device.Config) { c.File = file }
}

func TestClockOf1970IsCorrected(t *testing.T) { clockIsCorrected(t, time.Unix(0, 0)) }

// Such a device cannot know that its proof would be valid for decades.
func TestClockOf2060IsCorrected(t *testing.T) {
	clockIsCorrected(t, time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC))
}

func clockIsCorrected(t *testing.T, boot time.Time) {
	f := newFixture(t)
	inFile := fileIn(t)
	f.bubble(21, func() {
		booted := time.Now()
		c := f.open(func(c *device.Config) {
			c.Wall = func() time.Time { return boot.Add(time.Since(booted)) }
			inFile(c)
		})
		for range 20 {
			time.Sleep(time.Minute)
			f.mustSend(c)
		}
		f.run(c)
		f.flush(c)
		f.mustStore(c)
		if !c.Stats().TimeKnown {
			t.Error("the time is not known")
		}
	})
	if len(f.proofs) != 1 || len(f.asked) != 2 {
		t.Errorf("refused proofs %v, asked %d times", f.proofs, len(f.asked))
	}
}

func TestClockThatJumpsBackAnHourChangesNothing(t *testing.T) {
	f := newFixture(t)
	inFile := fileIn(t)
	f.bubble(300, func() {
		jump := time.Duration(0)
		change := func(c *device.Config) {
			inFile(c)
			c.Wall = func() time.Time { return f.now().Add(jump) }
		}
		c := f.start(change)
		for i := range 300 {
			time.Sleep(time.Minute)
			switch i {
			case 100: // while the client runs
				jump = -time.Hour
			case 150: // between two runs
				f.close(c)
				jump = -2 * time.Hour
				c = f.start(change)
			case 200:
				jump = time.Hour
			}
			f.mustSend(c)
		}
	})
}

// Each fault hits each of the first requests once.
func TestFaultsOfAnyRequestStoreEachReadingOnce(t *testing.T) {
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Cut, faults.Twice, faults.TimedOutDone,
		faults.ServerBusy, faults.Late, faults.Stalled} {
		t.Run(string(fault), func(t *testing.T) {
			f := newFixture(t)
			f.random = true
			f.bubble(6*37, func() {
				for n := range 6 {
					cut := &faults.Transport{Next: f, Plan: faults.Script{n: fault, n + 1: fault}, Delay: 2 * time.Minute}
					c := f.open(func(c *device.Config) { c.Transport = cut })
					for range 7 {
						f.mustSend(c)
					}
					f.run(c)
					for range 30 {
						time.Sleep(time.Second)
						f.mustSend(c)
					}
					f.flush(c)
					if len(cut.Injected()) == 0 {
						t.Error("no fault was injected")
					}
					f.close(c)
				}
			})
		})
	}
}

// Power cuts at any moment, on an unreliable network.
func TestPowerCutsAndFaultsStoreEachReadingOnce(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	f.random = true
	inFile := fileIn(t)
	var sessions []int
	total := 0
	for range effort.Of(30, 10) {
		sessions = append(sessions, random.IntN(40))
		total += sessions[len(sessions)-1]
	}
	f.bubble(total, func() {
		bad := &faults.Transport{Next: f, Delay: time.Minute, Plan: faults.Random{Seed: seed, Rates: map[faults.Fault]float64{
			faults.AnswerLost: 0.2, faults.Cut: 0.1, faults.Twice: 0.1, faults.TimedOutDone: 0.1, faults.ServerBusy: 0.1,
			faults.Late: 0.1}}}
		for _, readings := range sessions {
			c := f.start(func(c *device.Config) { inFile(c); c.Transport = bad })
			for range readings {
				time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
				f.mustSend(c)
			}
			f.close(c)
			time.Sleep(time.Duration(random.Int64N(int64(time.Hour))))
		}
		f.start(inFile)
	})
}

func TestTwoProcessesUnderOneIDNeverCollide(t *testing.T) {
	f := newFixture(t)
	f.random = true
	dir := t.TempDir()
	f.bubble(400, func() {
		var clients []*device.Client
		for i := range 2 {
			clients = append(clients, f.start(func(c *device.Config) { c.File = filepath.Join(dir, fmt.Sprint(i)) }))
		}
		for range 100 {
			for _, c := range clients { // all in one tick
				f.mustSend(c)
				f.mustSend(c)
			}
			time.Sleep(time.Second)
		}
		for _, c := range clients {
			f.flush(c)
			if stats := c.Stats(); stats.Stored != 200 {
				t.Errorf("%+v", stats)
			}
		}
	})
}
