package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

var (
	siegeFor     = flag.Duration("siege.for", 0, "how long TestSiegeStopsNobody attacks furrow up; 0: it is skipped")
	siegeDevices = flag.Int("siege.devices", 500, "number of honest devices of TestSiegeStopsNobody")
)

// What honest devices have beside everything that attackers do.
const (
	siegeEvery   = 10 * time.Second // between two readings of a device, and the cadence
	siegeSettle  = 2 * time.Second
	siegeRenew   = 2 * time.Minute        // between two tokens of a device
	siegeP99     = 250 * time.Millisecond // of inserts
	siegeRefused = time.Second            // from the first try of a reading until it is accepted
	siegeSlots   = 2                      // until a reading is in its outputs
	siegeMemory  = 400 << 10              // kB of furrow up, at the peak
)

// TestSiegeStopsNobody has furrow up serve honest devices and viewers of three tenants while a device, a viewer of one
// of them, the key of another and strangers do the worst that they can, at nice 19.
func TestSiegeStopsNobody(t *testing.T) {
	if *siegeFor == 0 {
		t.Skip("needs both processors for minutes: see -siege.for")
	}
	s := newSiege(t)
	folds := watchFolds(s.f, time.Second)
	attackers, report := s.attack(t)
	s.live(t)
	must(t, attackers.Process.Signal(syscall.SIGTERM))
	if err := attackers.Wait(); err != nil {
		t.Errorf("the attackers end with %v", err)
	}
	t.Logf("attackers by what they did, with statuses:\n%s", report)
	s.awaitFolds(t, folds)
	s.f.must("audit run --wait") // for readings that arrived after the settle time
	s.checkAnswers(t)
	s.checkOutputs(t, folds)
	peak := peakMemory(s.up.Process.Pid)
	t.Logf("furrow up had %s of memory at the peak", peak)
	if kB, err := strconv.Atoi(strings.TrimSuffix(peak, " kB")); err != nil || kB >= siegeMemory {
		t.Errorf("furrow up had %s of memory at the peak; want less than %d kB", peak, siegeMemory)
	}
}

// A siege is furrow up with honest devices.
type siege struct {
	f       *fixture
	up      *exec.Cmd
	log     lockedBuffer
	said    upScreen
	tenants []string
	keys    map[string]sas.Key // by tenant, which is also the enrollment
	viewers map[string]string  // tokens by tenant
	devices []*honestDevice
	answers honestAnswers
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	dir, config := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, fmt.Sprintf("pipelines: [{name: live, cadence: %v, settle: %v, processors: "+
		"[latest, rollup: {windows: [1m, 1h, 1d]}, rules]}]\n"+
		"rules: {hot: {when: {threshold: {sensor: temperature, above: 60, for: 1m}}}}\n", siegeEvery, siegeSettle))
	s := &siege{tenants: []string{"contoso", "fabrikam", "initech"}, keys: map[string]sas.Key{},
		viewers: map[string]string{}, answers: honestAnswers{statuses: map[string]int{}}}
	var out lockedBuffer
	s.up = startProcess(t, &out, &s.log, nil, "up", "--storage", dir, "--config", config,
		"--listen", "127.0.0.1:0", "--storage-port", "0", "--dashboard", "127.0.0.1:0", "--json")
	t.Cleanup(func() {
		if text := s.log.String(); t.Failed() {
			t.Log(text[max(0, len(text)-20_000):])
		}
	})
	await(t, &s.log, func() bool { return strings.Contains(out.String(), "\n") })
	must(t, json.Unmarshal([]byte(out.String()), &s.said))
	s.f = fixtureIn(t, dir)
	for _, tenant := range s.tenants {
		s.f.must("enrollment add " + tenant + " --life 5m --tenant " + tenant)
		key, err := sas.ParseKey(strings.TrimSpace(s.f.must("enrollment key " + tenant + " --show-key")))
		must(t, err)
		s.keys[tenant] = key
		var added struct{ Token string }
		said := s.f.must("access add viewer-" + tenant + " --role viewer --json --tenant " + tenant)
		must(t, json.Unmarshal([]byte(said), &added))
		s.viewers[tenant] = added.Token
	}
	for i := range *siegeDevices {
		s.devices = append(s.devices, s.device(s.tenants[i%len(s.tenants)], fmt.Sprintf("honest-%04d", i)))
	}
	return s
}

func (s *siege) device(tenant, id string) *honestDevice {
	return &honestDevice{siege: s, id: id, tenant: tenant, key: s.keys[tenant].Of(id)}
}

// attack starts the attackers in a process of their own.
func (s *siege) attack(t *testing.T) (attackers *exec.Cmd, report *lockedBuffer) {
	t.Helper()
	mallory := s.device("contoso", "mallory")
	for range 8 { // a burst has ten
		must(t, mallory.renew(t.Context()))
		s.hold(mallory)
	}
	text, err := json.Marshal(attack{Dashboard: s.said.Dashboard, Viewer: s.viewers["contoso"], Endpoint: s.said.Endpoint,
		Tokens: mallory.held, Foreign: s.keys["fabrikam"].Of("honest-0000").Prove("fabrikam/registrations/honest-0000",
			time.Now().Add(time.Hour)), Victim: "honest-0000", Key: mallory.key.Prove("contoso/registrations/mallory",
			time.Now().Add(time.Hour))})
	must(t, err)
	report = &lockedBuffer{}
	attackers = exec.Command("nice", "-n", "19", os.Args[0])
	attackers.Env, attackers.Stdout, attackers.Stderr = append(os.Environ(), asAttackers+"="+string(text)), report, report
	must(t, attackers.Start())
	t.Cleanup(func() { _ = attackers.Process.Kill(); _ = attackers.Wait() }) // it may have ended already
	return attackers, report
}

func (s *siege) hold(d *honestDevice) { d.held = append(d.held, d.token) }

// live runs honest devices and viewers until the siege ends.
func (s *siege) live(t *testing.T) {
	t.Helper()
	until := time.Now().Add(*siegeFor)
	var all sync.WaitGroup
	for i, d := range s.devices {
		first := siegeEvery * time.Duration(i) / time.Duration(len(s.devices))
		all.Go(func() { d.live(t.Context(), first, until) })
	}
	for _, tenant := range s.tenants[1:] { // the first one's viewer attacks
		all.Go(func() { s.view(t.Context(), tenant, until) })
	}
	all.Wait()
}

// checkAnswers checks what honest devices and viewers were answered.
func (s *siege) checkAnswers(t *testing.T) {
	t.Helper()
	a := &s.answers
	slices.Sort(a.inserts)
	slices.Sort(a.views)
	if len(a.inserts) == 0 || len(a.views) == 0 {
		t.Fatal("nothing was answered")
	}
	p99 := a.inserts[len(a.inserts)*99/100]
	t.Logf("%d inserts: half within %v, 99 %% within %v, all within %v; a reading waited at most %v until it was accepted",
		len(a.inserts), a.inserts[len(a.inserts)/2].Round(time.Microsecond), p99.Round(time.Microsecond),
		a.inserts[len(a.inserts)-1].Round(time.Millisecond), a.longest.Round(time.Millisecond))
	t.Logf("%d tokens, a device waited at most %v for one; %d views of other tenants, 99 %% within %v; statuses: %v",
		a.tokens, a.renewing.Round(time.Millisecond), len(a.views),
		a.views[len(a.views)*99/100].Round(time.Millisecond), a.statuses)
	if p99 >= siegeP99 {
		t.Errorf("99 %% of honest inserts took up to %v, want less than %v", p99, siegeP99)
	}
	if a.longest > siegeRefused {
		t.Errorf("a reading was refused for %v, want at most %v", a.longest, siegeRefused)
	}
	if want := len(s.devices) * int(*siegeFor/siegeRenew); a.tokens < want {
		t.Errorf("devices got %d tokens, want at least %d", a.tokens, want)
	}
	for what, n := range a.statuses {
		if strings.HasPrefix(what, "view") && what != "view 200" {
			t.Errorf("%s: %d times", what, n)
		}
	}
}

// awaitFolds waits until the last readings of all devices are folded.
func (s *siege) awaitFolds(t *testing.T, f *folds) {
	t.Helper()
	await(t, "the last readings to be folded", func() bool {
		return !slices.ContainsFunc(s.devices, func(d *honestDevice) bool {
			_, is := f.folded(schema.DeviceID(d.id), d.last.String())
			return !is
		})
	})
}

// checkOutputs checks that each honest reading is folded, and counts the slots that those have waited which arrived in
// time.
func (s *siege) checkOutputs(t *testing.T, f *folds) {
	t.Helper()
	runs, _, err := worker.Runs{Table: s.f.client.Table(s.f.names.Runs())}.Since(t.Context(), "live", 0)
	must(t, err)
	bySlots, late := map[int]int{}, 0
	for _, d := range s.devices {
		stored := 0
		for page, err := range s.f.client.Table(s.f.names.Readings()).Rows(t.Context(), tables.Query{
			Range: tables.Range{Partitions: tables.Is(d.id)}, Select: []string{"PartitionKey", "RowKey", "Timestamp"}}) {
			must(t, err)
			for _, e := range page.Rows {
				stored++
				key, err := schema.ParseRowKey(e.RowKey)
				must(t, err)
				due := key.Ticks.Add(siegeSettle)
				if e.Timestamp > due {
					late++
					continue
				}
				at, is := f.folded(schema.DeviceID(d.id), e.RowKey)
				if !is {
					t.Errorf("row %s of %s is in no output", e.RowKey, d.id)
					continue
				}
				slots := 0
				for _, r := range runs {
					if r.Slot >= due && r.Slot <= at {
						slots++
					}
				}
				if bySlots[slots]++; slots > siegeSlots && !t.Failed() {
					t.Errorf("row %s of %s was in its outputs after %d slots", e.RowKey, d.id, slots)
				}
			}
		}
		if stored != d.accepted {
			t.Errorf("%s: %d readings were accepted, %d are stored", d.id, d.accepted, stored)
		}
	}
	t.Logf("readings by the slots until they were in their outputs: %v; %d arrived after the settle time", bySlots, late)
	s.checkCounts(t)
}

// checkCounts compares the rollups of a day with what was accepted.
func (s *siege) checkCounts(t *testing.T) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, d := range s.devices {
		want[d.tenant] += d.accepted
	}
	for _, tenant := range s.tenants {
		got[tenant] = s.f.counted(tenant, "1d")
	}
	if !maps.Equal(got, want) {
		t.Errorf("rollups have %v readings, want %v", got, want)
	}
	t.Logf("accepted readings by tenant, all in rollups: %v", want)
}

// honestAnswers are those that honest devices and viewers got.
type honestAnswers struct {
	mu       sync.Mutex
	inserts  []time.Duration
	views    []time.Duration
	longest  time.Duration // from the first try of a reading until it was accepted
	renewing time.Duration // from the first request for a token until it was there
	tokens   int
	statuses map[string]int // "insert 204"; 0: no answer
}

func (a *honestAnswers) add(what string, status int, took time.Duration, all *[]time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.statuses[fmt.Sprint(what, " ", status)]++
	if all != nil {
		*all = append(*all, took)
	}
}

func (a *honestAnswers) accepted(waited time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.longest = max(a.longest, waited)
}

func (a *honestAnswers) renewed(waited time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens++
	a.renewing = cmp.Or(max(a.renewing, waited), waited)
}
