package main

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/lab/demo/check"
	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/verification"
	"furrow/sas"
	"furrow/tables/azuretest/effort"
	"furrow/tables/local"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

var (
	soakFor     = flag.Duration("soak.for", 6*time.Second, "time for which devices send in TestKilledUpLosesNothing")
	soakKill    = flag.Duration("soak.kill", 2*time.Second, "time between two kills of furrow up")
	soakDevices = flag.Int("soak.devices", 40, "number of devices")
	soakEvery   = flag.Duration("soak.every", time.Second, "time between two readings of a device")
	soakCadence = flag.String("soak.cadence", "1s", "cadence of the pipeline")
)

// TestKilledUpLosesNothing kills furrow up with its storage repeatedly, while a fleet with every kind of fault
// writes to it. In the end, every reading that a device was told is stored is in the outputs once.
func TestKilledUpLosesNothing(t *testing.T) {
	effort.OnlyLong(t, "TestKilledWorkerLosesNothing kills workers, and package local storage")
	t.Parallel()
	s := newSoak(t)
	ctx, end := context.WithTimeout(t.Context(), *soakFor)
	defer end()
	var sending sync.WaitGroup
	var sum simulate.Summary
	sending.Go(func() {
		var err error
		if sum, err = simulate.Run(ctx, s.fleet); err != nil {
			t.Error(err)
		}
	})
	kills := 0
	for ctx.Err() == nil {
		select {
		case <-time.After(*soakKill):
			t.Logf("killed with %s of memory at the peak, and %s", peakMemory(s.up.Process.Pid), s.lag())
			must(t, s.up.Process.Kill())
			_ = s.up.Wait() // it was killed
			s.start()
			kills++
		case <-ctx.Done():
		}
	}
	sending.Wait()
	_, told := s.receipts.Told()
	t.Logf("killed %d times; of %d readings made, storage confirmed %d; %+v", kills, sum.Made, told, sum)
	if kills == 0 || told == 0 || sum.Waiting > 0 {
		t.Errorf("%d kills, %d readings, %d that wait", kills, told, sum.Waiting)
	}
	s.checkAll()
	t.Logf("at the end, %s of memory at the peak", peakMemory(s.up.Process.Pid))
}

// A soak is furrow up in a process of its own, and a fleet that sends to it.
type soak struct {
	*fixture
	listen, ports, config string
	args                  []string // more flags of up
	up                    *exec.Cmd
	receipts              *check.Receipts
	except                map[schema.DeviceID]bool // devices that are not checked
	fleet                 simulate.Config
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	now := time.Now().UTC()
	f := simulate.Fleet{Seed: uint64(now.UnixNano()), Devices: *soakDevices, Tenants: 1, Until: now, Every: *soakEvery,
		Dirt: simulate.Some()}
	return newSoakOf(t, f, "pipelines: [{name: live, cadence: "+*soakCadence+
		", settle: 2s, processors: [latest, rollup: {windows: [1m, 1h, 1d]}]}]\n")
}

func newSoakOf(t *testing.T, f simulate.Fleet, config string, args ...string) *soak {
	t.Helper()
	s := &soak{fixture: &fixture{t: t, storage: t.TempDir()}, config: filepath.Join(t.TempDir(), "furrow.yaml"),
		args: args, receipts: &check.Receipts{}}
	writeFile(t, s.config, config)
	s.choosePorts()
	s.start()
	s.fixture = fixtureIn(t, s.storage)
	s.enroll(f)
	return s
}

// choosePorts finds ports that stay the same when up is restarted.
func (s *soak) choosePorts() {
	s.t.Helper()
	for port := 21000 + os.Getpid()%20000; ; port += 4 {
		s.ports, s.listen = strconv.Itoa(port), "127.0.0.1:"+strconv.Itoa(port+3)
		storage, err := local.Listen("127.0.0.1:"+s.ports, false)
		if err != nil {
			continue
		}
		must(s.t, storage.Close())
		if l, err := net.Listen("tcp", s.listen); err == nil {
			must(s.t, l.Close())
			return
		}
	}
}

// start starts up, and returns once it listens.
func (s *soak) start() {
	s.t.Helper()
	out, errs := &lockedBuffer{}, &lockedBuffer{}
	args := append([]string{"up", "--json", "--no-dashboard", "--storage", s.storage, "--listen", s.listen,
		"--storage-port", s.ports, "--config", s.config}, s.args...)
	s.up = startProcess(s.t, out, errs, nil, args...)
	await(s.t, errs, func() bool { return out.String() != "" })
}

// enroll registers the fleet's devices.
func (s *soak) enroll(f simulate.Fleet) {
	s.t.Helper()
	s.must("enrollment add soak --tenant contoso")
	master, err := setup.ReadMaster(filepath.Join(s.storage, setup.MasterFile))
	must(s.t, err)
	all := &sas.Enrollments{Table: s.client.Table(s.names.Enrollments()), SealingKey: master}
	e, err := all.Get(s.t.Context(), "soak")
	must(s.t, err)
	keys, err := all.Keys(e)
	must(s.t, err)
	now := time.Now().UTC()
	s.t.Logf("seed %d", f.Seed)
	members := f.Members()
	must(s.t, simulate.Register(s.t.Context(), sas.NewRegistry(s.client, s.names),
		func(simulate.Member) schema.Enrollment { return e }, members, nil))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, f.Devices
	s.fleet = simulate.Config{
		Endpoint: "http://" + s.listen, Transport: s.receipts.Over(transport), Members: members, From: now, Wall: f.Wall,
		Grace:      time.Minute,
		Credential: func(m simulate.Member) (schema.EnrollmentID, string) { return e.ID, keys[0].Of(string(m.ID)).Base64() },
		Sendings:   func(m simulate.Member) simulate.Stream { return f.Sendings(m, now, time.Time{}) },
		Log:        slog.New(slog.DiscardHandler),
	}
}

// lag returns the lag that status prints.
func (s *soak) lag() string {
	s.t.Helper()
	for line := range strings.Lines(s.must("status --config", s.config)) {
		if strings.HasPrefix(strings.TrimSpace(line), "lag") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "no lag"
}

// verification returns how the fleet is configured.
func (s *soak) verification() *verify.Config {
	s.t.Helper()
	c, err := config.Load(s.config)
	must(s.t, err)
	v, err := verification.Of(s.client, schema.Names{}, c.Pipelines, schema.Format)
	must(s.t, err)
	return v
}

// checkAll waits until all rows are folded. Rows that arrived after the settle time are folded by audits, which it
// requests every ten seconds.
func (s *soak) checkAll() {
	s.t.Helper()
	began := time.Now()
	for audited := began; ; time.Sleep(time.Second) {
		if time.Since(audited) > 10*time.Second {
			s.must("audit run")
			audited = time.Now()
		}
		found, err := check.Config{Client: s.client, Verify: s.verification(), Receipts: s.receipts,
			Except: s.except}.Run(s.t.Context())
		if err == nil && found.Differences == 0 && found.Readings > 0 {
			s.t.Logf("after %v all is folded: %+v", time.Since(began).Round(time.Second), found)
			return
		}
		if time.Since(began) > 2*time.Minute {
			s.t.Fatalf("%v; %d differences: %v", err, found.Differences, found.First)
		}
	}
}
