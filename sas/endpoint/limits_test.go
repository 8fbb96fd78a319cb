package endpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas"
	"furrow/tables"
)

func TestStrangersUseUpNobodysAllowance(t *testing.T) {
	h, _ := mustNew(t, Config{Limits: Limits{Rate: 5}})
	for range 1000 {
		wantProblem(t, askToken(h, "pump-7", wrongProof).Result(), ProofWrong)
	}
	if n := h.devices.known(); n != 0 {
		t.Errorf("%d devices are remembered", n)
	}
	for i := range DeviceBurst {
		if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
			t.Fatalf("request %d: %s", i, w.Body)
		}
	}
}

func TestOneDeviceCannotUseUpTheAllowanceOfAll(t *testing.T) {
	h, _ := mustNew(t, Config{Limits: Limits{Rate: 50}})
	for range 1000 {
		askToken(h, "pump-7", rightProof)
	}
	if w := askToken(h, "pump-8", rightProof); w.Code != 200 {
		t.Errorf("pump-8: %s", w.Body)
	}
}

func TestDeviceHasItsBurstAndThenItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := mustNew(t, Config{})
		for minute := range 5 {
			passed, last := 0, problem{}
			for range 60 {
				w := askToken(h, "pump-7", rightProof)
				if w.Code == 200 {
					passed++
				} else {
					last = wantProblem(t, w.Result(), TooManyRequests)
				}
				time.Sleep(time.Second)
			}
			if want := DefaultDeviceRate; minute > 0 && passed != want || minute == 0 && passed != DeviceBurst+want-1 {
				t.Errorf("in minute %d, %d passed", minute, passed)
			}
			if last.RetryAfter < 1 || last.RetryAfter > 10 {
				t.Errorf("Retry-After is %d", last.RetryAfter)
			}
		}
	})
}

func TestWhoComesAfterRetryAfterIsLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := mustNew(t, Config{})
		for range 20 {
			if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
				time.Sleep(time.Duration(wantProblem(t, w.Result(), TooManyRequests).RetryAfter) * time.Second)
				if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
					t.Errorf("again: %s", w.Body)
				}
			}
		}
	})
}

func TestAllowancesOfDevicesTakeBoundedMemory(t *testing.T) {
	d := &devices{bucket: Limits{}.device(), most: mostDevices}
	before := heap()
	now := time.Now()
	for i := range 5 * mostDevices {
		d.pass(tables.DeviceID("a-device-with-a-name-of-usual-length-"+strconv.Itoa(i)), now)
	}
	if n := d.known(); n > 2*mostDevices {
		t.Errorf("%d are remembered", n)
	}
	if took := heap() - before; took > 50<<20 {
		t.Errorf("they take %d MB", took>>20)
	} else {
		t.Logf("they take %d MB", took>>20)
	}
	runtime.KeepAlive(d)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestForgettingByAgeGivesNothingAway(t *testing.T) {
	d := &devices{bucket: Limits{}.device(), most: mostDevices}
	now := time.Now()
	passed := 0
	const minutes = 100
	for range minutes {
		for range 2 * DeviceBurst { // and then it is silent for a minute
			if d.pass("pump-7", now) == 0 {
				passed++
			}
		}
		for range 60 {
			now = now.Add(time.Second)
			d.pass("others", now)
		}
	}
	if most := DeviceBurst + minutes*DefaultDeviceRate; passed > most || passed < most-DeviceBurst {
		t.Errorf("%d passed, want about %d", passed, most)
	}
}

func TestWhoKeepsAskingIsNotForgottenForTheSakeOfOthers(t *testing.T) {
	d := &devices{bucket: Limits{}.device(), most: 10}
	now := time.Now()
	passed := 0
	for i := range 1000 {
		if d.pass("pump-7", now) == 0 {
			passed++
		}
		d.pass(tables.DeviceID(strconv.Itoa(i)), now)
	}
	if passed != DeviceBurst {
		t.Errorf("%d passed", passed)
	}
}

func TestLineGivesEveryoneATimeOfTheirOwn(t *testing.T) {
	var l line
	now := time.Now()
	for i := range 1000 {
		if got, want := l.join(now, time.Second, 10*time.Millisecond), time.Second+time.Duration(i)*10*time.Millisecond; got != want {
			t.Fatalf("number %d waits for %v, want %v", i, got, want)
		}
	}
	if got := l.join(now.Add(time.Minute), time.Second, 10*time.Millisecond); got != time.Second {
		t.Errorf("in a line that has gone, the first waits for %v", got)
	}
	for range 1_000_000 {
		if got := l.join(now, time.Second, 10*time.Millisecond); got > longest {
			t.Fatalf("one waits for %v", got)
		}
	}
}

// TestFleetThatBootsAtOnceHasItsTokensInTwoMinutes is the storm of the defaults: each
// device waits as long as it is told, and up to a fifth longer. With slow storage it
// is a tenth of it in every respect.
func TestFleetThatBootsAtOnceHasItsTokensInTwoMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		limits Limits
		issue  time.Duration
	}{
		"fast storage": {20_000, Limits{}, 20 * time.Millisecond},
		"slow storage": {2_000, Limits{Rate: DefaultRate / 10, Places: DefaultPlaces / 10}, 900 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			took, tries, most := storm(t, c.size, c.limits, c.issue)
			t.Logf("the last has its token after %v; %d requests; at most %d of one device", took, tries, most)
			if took > 2*time.Minute {
				t.Errorf("it takes %v", took)
			}
			if tries > 5*c.size {
				t.Errorf("it takes %d requests", tries)
			}
		})
	}
}

func storm(t *testing.T, size int, limits Limits, issue time.Duration) (took time.Duration, tries, most int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		var inside, worst int
		var mu sync.Mutex
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			inside += n
			worst = max(worst, inside)
		}
		h, err := New(Config{Log: quiet(), Limits: limits, Issuer: fakeIssuer{issue: func(context.Context) error {
			count(1)
			defer count(-1)
			time.Sleep(issue)
			return nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		all := make([]int, size)
		var fleet sync.WaitGroup
		for i := range size {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			fleet.Go(func() { all[i] = boot(t, h, fmt.Sprintf("pump-%d", i), random) })
		}
		fleet.Wait()
		took = time.Since(began)
		for _, n := range all {
			tries += n
		}
		most = slices.Max(all)
		if worst > cap(h.gate.places) {
			t.Errorf("%d requests used storage at a time", worst)
		}
	})
	return took, tries, most
}

// boot asks until there is a token, and returns how often.
func boot(t *testing.T, h *Handler, id string, random *rand.Rand) int {
	time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
	for n := 1; ; n++ {
		w := askToken(h, id, rightProof)
		if w.Code == 200 {
			return n
		}
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil || n == 50 {
			t.Errorf("%s: try %d: %s", id, n, w.Body)
			return n
		}
		wait := time.Duration(after) * time.Second
		time.Sleep(wait + time.Duration(random.Int64N(int64(wait/5))))
	}
}

func TestGateTurnsAwayAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		h, _ := mustNew(t, Config{Limits: Limits{Places: 2}, Issuer: fakeIssuer{issue: func(context.Context) error { <-free; return nil }}})
		var inside sync.WaitGroup
		for range 2 {
			inside.Go(func() {
				if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
					t.Errorf("inside: %s", w.Body)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		wantProblem(t, askToken(h, "pump-8", rightProof).Result(), StorageBusy)
		if waited := time.Since(began); waited != patience {
			t.Errorf("it waited for %v", waited)
		}
		inside.Go(func() {
			if w := askToken(h, "pump-9", rightProof); w.Code != 200 {
				t.Errorf("who waits is not let in: %s", w.Body)
			}
		})
		time.Sleep(time.Second)
		close(free)
		inside.Wait()
		if len(h.gate.places) != 0 {
			t.Errorf("%d places are taken in the end", len(h.gate.places))
		}
	})
}

var _ Issuer = (*sas.Issuer)(nil)
