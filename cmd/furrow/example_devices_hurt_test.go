package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
)

var hurtDevices = flag.Int("examples.devices", 200,
	"number of processes of TestExampleDevicesLoseNothingBehindAHurtingProxy")

// TestExampleDevicesLoseNothingBehindAHurtingProxy has many processes of the examples. Some of them, and furrow up, are
// killed again and again. Each reading that a device has ever kept is stored and folded once.
func TestExampleDevicesLoseNothingBehindAHurtingProxy(t *testing.T) {
	effort.OnlyLong(t, "they are programs in other languages")
	if os.Getenv("FURROW_ALL_EXAMPLES") == "" {
		t.Skip("it takes minutes, and the step devices of .ci/long runs it")
	}
	s := newHurtFleet(t)
	draw := rand.New(rand.NewPCG(43, 0))
	for round := range 6 {
		before, restarted := s.progress(), 0
		for _, d := range s.devices {
			if draw.IntN(8) == 0 && s.restart(d) {
				restarted++
			}
		}
		s.step("round %d: %d devices restarted, %d readings stored", round, restarted, before)
		s.up.kill(t)
		failures := s.failures()
		s.await("devices fail", func() bool { return s.failures() > failures+len(s.devices)/10 })
		s.up.start(t)
		s.await("devices store readings again", func() bool { return s.progress() > before+len(s.devices) })
	}
	s.step("the last reading of each device")
	for _, d := range s.devices {
		d.every = 1_000_000
		s.configure(d)
		s.await(d.name+" knows the time", func() bool { return s.restart(d) })
	}
	s.await("all readings are stored", func() bool {
		for _, d := range s.devices {
			if len(d.now("kept")) == 0 || d.waits() > 0 {
				return false
			}
		}
		return true
	})
	s.check()
}

// A hurtFleet is furrow up behind a proxy that hurts, with devices.
type hurtFleet struct {
	t       *testing.T
	began   time.Time
	dir     string
	up      *upProcess
	proxy   *httptest.Server
	hurts   *faults.Transport
	key     sas.Key
	devices []*exampleDevice
}

func newHurtFleet(t *testing.T) *hurtFleet {
	t.Helper()
	kinds := exampleDevices(t, false)
	third := map[faults.Fault]float64{faults.Stalled: 0.03, faults.Late: 0.03, faults.AnswerLost: 0.06, faults.Cut: 0.06,
		faults.ServerBusy: 0.06, faults.TimedOutDone: 0.05, faults.Twice: 0.05}
	s := &hurtFleet{t: t, began: time.Now(), dir: t.TempDir(), proxy: httptest.NewUnstartedServer(nil),
		hurts: &faults.Transport{Plan: faults.Random{Seed: 43, Rates: third}, Delay: 11 * time.Second}} // devices wait 10 s
	address := "http://" + s.proxy.Listener.Addr().String()
	config := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, "pipelines: [{name: live, cadence: 10s, settle: 2s, processors: [latest, rollup]}]\n")
	s.up = startUpProcess(t, s.dir, "--config", config, "--table-url", address+"/furrow")
	f := fixtureIn(t, s.dir)
	every := max(2, *hurtDevices/50)
	f.must(fmt.Sprintf("enrollment add plant1 --tenant contoso --batch 10 --send-every %ds", every))
	key, err := sas.ParseKey(strings.TrimSpace(f.must("enrollment key plant1 --show-key")))
	must(t, err)
	s.key = key
	s.serve()
	for i := range *hurtDevices {
		kind := *kinds[len(kinds)-1-i%2*2]
		if i%20 < len(kinds) { // others need more memory
			kind = *kinds[i%20]
		}
		kind.name, kind.dir, kind.every = fmt.Sprintf("%s-%04d", kind.name, i), t.TempDir(), every
		s.devices = append(s.devices, &kind)
		s.configure(&kind)
		kind.start(t)
	}
	return s
}

// serve starts the proxy in front of the endpoint and the tables.
func (s *hurtFleet) serve() {
	s.t.Helper()
	account, err := tables.ParseAccount(text(s.t, filepath.Join(s.dir, "connection")))
	must(s.t, err)
	behind := func(address string) *httputil.ReverseProxy {
		target, err := url.Parse(address)
		must(s.t, err)
		proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
		proxy.ErrorLog = log.New(io.Discard, "", 0) // furrow up is killed
		return proxy
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", behind(s.up.said.Endpoint))
	mux.Handle("/", behind(account.Table))
	s.proxy.Config.Handler = s.hurts.Handler(mux)
	s.proxy.Start()
	s.t.Cleanup(func() { s.proxy.CloseClientConnections(); s.proxy.Close() })
}

func (s *hurtFleet) configure(d *exampleDevice) {
	s.t.Helper()
	d.configure(s.t, s.proxy.URL, s.key.Of(d.id()).Base64(), "")
}

// restart kills a device and starts it again, if it knows the time: otherwise what it has kept is dropped, as it says.
func (s *hurtFleet) restart(d *exampleDevice) bool {
	s.t.Helper()
	if len(d.now("token")) == 0 {
		return false
	}
	d.kill(s.t)
	d.start(s.t)
	return true
}

func (s *hurtFleet) step(format string, args ...any) {
	s.t.Logf("%5.1f s  %s", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// progress returns the number of readings that devices said to be stored.
func (s *hurtFleet) progress() (stored int) {
	for _, d := range s.devices {
		stored += len(d.gone("stored"))
	}
	return stored
}

func (s *hurtFleet) failures() (all int) {
	for _, d := range s.devices {
		all += len(d.said("failed"))
	}
	return all
}

// await waits until is returns true: a device that has failed often waits for minutes.
func (s *hurtFleet) await(what string, is func() bool) {
	s.t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Second) {
		if time.Since(began) > 15*time.Minute {
			s.t.Fatalf("waited 15 minutes until %s; the log of furrow up:\n%s", what, s.up.errs)
		}
	}
}

// check compares what the devices printed with the table, and that with the outputs.
func (s *hurtFleet) check() {
	f := fixtureIn(s.t, s.dir)
	kinds, kept, rows := map[string]int{}, 0, 0
	for _, d := range s.devices {
		d.kill(s.t)
		kind, _, _ := strings.Cut(d.name, "-")
		kinds[kind]++
		kept += len(d.said("kept"))
		rows += d.check(s.t, f)
		if n := len(d.gone("dropped")); n > 0 {
			s.t.Errorf("%s dropped %d readings:\n%s", d.name, n, d.text())
		}
	}
	s.step("%v devices: %d readings kept, %d rows, %d failures, %d requests hurt", kinds, kept, rows, s.failures(),
		len(s.hurts.Injected()))
	f.must("audit run --wait")
	report := ""
	s.await("all is folded", func() bool {
		report = f.must("verify --all --last 1d")
		return strings.Contains(report, "Nothing differs.") && !strings.Contains(report, "not yet due")
	})
	s.step("%s", report)
	stored := grouped(int64(rows)) + " readings stored"
	if strings.Contains(report, "missing in storage") || !strings.Contains(report, stored) {
		s.t.Errorf("of %d rows, verify says\n%s", rows, report)
	}
}
