package endpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/sas"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestUnauthenticatedRequestsUseUpNoLimit(t *testing.T) {
	h, _ := mustNew(t, Config{Limits: Limits{Rate: 10}})
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

func TestOneDeviceCannotUseUpTheTotalLimit(t *testing.T) {
	h, _ := mustNew(t, Config{Limits: Limits{Rate: 50}})
	for range 1000 {
		askToken(h, "pump-7", rightProof)
	}
	if w := askToken(h, "pump-8", rightProof); w.Code != 200 {
		t.Errorf("pump-8: %s", w.Body)
	}
}

func TestEnrollmentHasARateOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := mustNew(t, Config{Issuer: fakeIssuer{rate: 30}})
		for minute := range 4 {
			passed := 0
			for i := range 120 {
				w := askToken(h, fmt.Sprint("pump-", minute, "-", i), rightProof)
				if w.Code == 200 {
					passed++
				} else if p := wantProblem(t, w.Result(), TooManyRequests); !strings.Contains(p.Detail, "enrollment") {
					t.Errorf("the reason is %q", p.Detail)
				}
				time.Sleep(time.Second / 2)
			}
			if minute > 0 && passed != 30 || minute == 0 && passed != 30+29 {
				t.Errorf("in minute %d, %d passed", minute, passed)
			}
		}
	})
	h, _ := mustNew(t, Config{Issuer: fakeIssuer{rate: 1}, Limits: Limits{Rate: 50}})
	for i := range 1000 {
		askToken(h, fmt.Sprint("pump-", i), rightProof)
	}
	if left, _ := h.fleet.state(time.Now()); left < 90 {
		t.Errorf("a limited enrollment used up the total limit: %d are left", left)
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
		for n := 0; n < 20; n++ {
			if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
				time.Sleep(time.Duration(wantProblem(t, w.Result(), TooManyRequests).RetryAfter) * time.Second)
				if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
					t.Errorf("after Retry-After: %s", w.Body)
				}
			}
		}
	})
}

func TestDeviceLimitsUseBoundedMemory(t *testing.T) {
	d := newDevices(Limits{}.device(), maxDevices)
	before := heap()
	now := time.Now()
	for i := range 3 * maxDevices {
		d.admit(proven{schema.DeviceID("a-device-with-a-name-of-usual-length-" + strconv.Itoa(i)), "furrow"}, now)
	}
	took := heap() - before
	t.Logf("%d MB in use", took>>20)
	if n := d.known(); n != maxDevices || took > 50<<20 {
		t.Errorf("%d devices are remembered in %d MB", n, took>>20)
	}
	runtime.KeepAlive(d)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestActiveDeviceKeepsItsStateWhenOthersCrowdIn(t *testing.T) {
	d := newDevices(Limits{}.device(), 10)
	now := time.Now()
	passed := 0
	for i := range 1000 {
		if d.admit(proven{device: "pump-7"}, now) == 0 {
			passed++
		}
		d.admit(proven{device: schema.DeviceID(strconv.Itoa(i))}, now)
	}
	if passed != DeviceBurst {
		t.Errorf("%d passed", passed)
	}
}

func TestRetryTimesAreSpread(t *testing.T) {
	var l retrySchedule
	now := time.Now()
	for i := range 1000 {
		want := time.Second + time.Duration(i)*10*time.Millisecond
		if got := l.next(now, time.Second, 10*time.Millisecond); got != want {
			t.Fatalf("client %d waits %v, want %v", i, got, want)
		}
	}
	if got := l.next(now.Add(time.Minute), time.Second, 10*time.Millisecond); got != time.Second {
		t.Errorf("after the schedule has passed, the first waits %v", got)
	}
	for range 1_000_000 {
		if got := l.next(now, time.Second, 10*time.Millisecond); got > maxRetryDelay {
			t.Fatalf("a client waits %v", got)
		}
	}
}

// A whole fleet boots at once, with the default limits. Each device waits as long as it is
// told, plus up to a fifth. With slow storage, fleet and limits are a tenth of that.
func TestFleetThatBootsAtOnceHasItsTokensInTwoMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		size   int
		limits Limits
		issue  time.Duration
	}{
		"fast storage": {20_000, Limits{}, 20 * time.Millisecond},
		"slow storage": {2_000, Limits{Rate: DefaultRate / 10, Slots: DefaultSlots / 10}, 900 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			took, tries, most := storm(t, c.size, c.limits, c.issue)
			t.Logf("last token after %v; %d requests; at most %d of one device", took, tries, most)
			if took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if tries > 5*c.size {
				t.Errorf("%d requests", tries)
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
		must.Succeed(t, err)
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
		if worst > h.storage.size {
			t.Errorf("%d concurrent requests used storage", worst)
		}
	})
	return took, tries, most
}

// boot requests a token until it gets one, and returns the number of requests.
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

func TestStorageLimiterRejectsAfterAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		h, _ := mustNew(t, Config{Limits: Limits{Slots: 4}, // a tenant leaves one of them
			Issuer: fakeIssuer{issue: func(context.Context) error { <-free; return nil }}})
		var inside sync.WaitGroup
		for range 3 {
			inside.Go(func() {
				if w := askToken(h, "pump-7", rightProof); w.Code != 200 {
					t.Errorf("inside: %s", w.Body)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		wantProblem(t, askToken(h, "pump-8", rightProof).Result(), StorageBusy)
		if waited := time.Since(began); waited != maxSlotWait {
			t.Errorf("it waited %v", waited)
		}
		inside.Go(func() {
			if w := askToken(h, "pump-9", rightProof); w.Code != 200 {
				t.Errorf("the waiting request: %s", w.Body)
			}
		})
		time.Sleep(time.Second)
		close(free)
		inside.Wait()
		if h.storage.slots.Used() != 0 {
			t.Errorf("%d slots in use at the end", h.storage.slots.Used())
		}
	})
}

var _ Issuer = (*sas.Issuer)(nil)
