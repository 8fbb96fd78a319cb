package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/demo/check"
	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/simulate"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/local"
	"furrow/tables/schema"
)

var (
	soakFor     = flag.Duration("soak.for", 6*time.Second, "how long TestKilledUpLosesNothing has devices send")
	soakKill    = flag.Duration("soak.kill", 2*time.Second, "after what time it kills furrow up, again and again")
	soakDevices = flag.Int("soak.devices", 40, "how many devices it has")
	soakEvery   = flag.Duration("soak.every", time.Second, "what time is between two readings of one")
	soakCadence = flag.String("soak.cadence", "1s", "the cadence of its pipeline")
)

// TestKilledUpLosesNothing kills a furrow up, storage and all, again and again,
// while a fleet with the world's dirt writes to it. What a device was told is stored is
// in the outputs at the end, once.
func TestKilledUpLosesNothing(t *testing.T) {
	s := newSoak(t)
	ctx, end := context.WithTimeout(t.Context(), *soakFor)
	defer end()
	var sending sync.WaitGroup
	var sum simulate.Summary
	sending.Go(func() {
		var err error
		if sum, err = simulate.Run(ctx, s.run); err != nil {
			t.Error(err)
		}
	})
	kills := 0
	for ctx.Err() == nil {
		select {
		case <-time.After(*soakKill):
			t.Logf("killed with %s of memory at the peak, and %s", peakMemory(s.up.Process.Pid), s.lag(t))
			s.kill(t)
			s.start(t)
			kills++
		case <-ctx.Done():
		}
	}
	ended := time.Now()
	sending.Wait()
	_, told := s.receipts.Told()
	t.Logf("killed %d times; of %d readings made, storage was heard to have %d; %+v", kills, sum.Made, told, sum)
	if kills == 0 || told == 0 || sum.Waiting > 0 {
		t.Errorf("%d kills, %d readings, %d that wait", kills, told, sum.Waiting)
	}
	s.checkAll(t, ended)
	t.Logf("at the end, %s of memory at the peak", peakMemory(s.up.Process.Pid))
}

// A soak is a furrow up in a process of its own, and a fleet.
type soak struct {
	dir, door, ports, config string
	args                     []string // of up, beside those that every soak has
	up                       *exec.Cmd
	client                   *tables.Client
	receipts                 *check.Receipts
	except                   map[schema.DeviceID]bool // devices that are not checked
	run                      simulate.Config
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
	s := &soak{dir: t.TempDir(), config: filepath.Join(t.TempDir(), "furrow.yaml"), args: args,
		receipts: &check.Receipts{}}
	writeConfig(t, s.config, config)
	s.choosePorts(t)
	s.start(t)
	found, err := setup.Find(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.client, err = tables.Connect(tables.Config{Account: found.Account}); err != nil {
		t.Fatal(err)
	}
	s.enroll(t, f)
	return s
}

// choosePorts finds ports that stay the same whenever up is started anew.
func (s *soak) choosePorts(t *testing.T) {
	t.Helper()
	for port := 21000 + os.Getpid()%20000; ; port += 4 {
		l, err := local.Listen("127.0.0.1:" + strconv.Itoa(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s.ports, s.door = strconv.Itoa(port), "127.0.0.1:"+strconv.Itoa(port+3)
		return
	}
}

// start starts up, and waits until it says where everything is.
func (s *soak) start(t *testing.T) {
	t.Helper()
	s.up = exec.Command(os.Args[0], "up", "--json", "--storage", s.dir, "--listen", s.door, "--storage-port", s.ports,
		"--no-dashboard", "--config", s.config)
	s.up.Args = append(s.up.Args, s.args...)
	s.up.Env, s.up.Stderr = append(os.Environ(), asFurrow+"=1", "FURROW_STORAGE="), &lockedBuffer{}
	out, err := s.up.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.up.Start(); err != nil {
		t.Fatal(err)
	}
	up := s.up
	t.Cleanup(func() { _ = up.Process.Kill(); _ = up.Wait() }) // most have been killed already
	said := make([]byte, 1)
	if _, err := out.Read(said); err != nil {
		t.Fatalf("up has ended: %v, %s", err, s.up.Stderr)
	}
	go func() { // so that it is never in its way
		rest := make([]byte, 4096)
		for err == nil {
			_, err = out.Read(rest)
		}
	}()
}

func (s *soak) kill(t *testing.T) {
	t.Helper()
	if err := s.up.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.up.Wait() // it was killed
}

// enroll makes the fleet known, and ready to run.
func (s *soak) enroll(t *testing.T, f simulate.Fleet) {
	t.Helper()
	y := &fleetFixture{dir: s.dir}
	y.furrow(t, "enrollment", "add", "soak", "--tenant", "contoso")
	master, err := readMaster(filepath.Join(s.dir, masterFile))
	if err != nil {
		t.Fatal(err)
	}
	all := &sas.Enrollments{Table: s.client.Table(schema.Names{}.Enrollments()), SealingKey: master}
	e, err := all.Get(t.Context(), "soak")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := all.Keys(e)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	t.Logf("seed %d", f.Seed)
	members := f.Members()
	if err := simulate.Register(t.Context(), sas.NewRegistry(s.client, schema.Names{}),
		func(simulate.Member) schema.Enrollment { return e }, members, nil); err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, f.Devices
	s.run = simulate.Config{
		Endpoint: "http://" + s.door, Transport: s.receipts.Over(transport), Members: members, From: now, Wall: f.Wall,
		Grace:      time.Minute,
		Credential: func(m simulate.Member) (schema.EnrollmentID, string) { return e.ID, keys[0].Of(string(m.ID)).Base64() },
		Sendings:   func(m simulate.Member) simulate.Stream { return f.Sendings(m, now, time.Time{}) },
		Log:        slog.New(slog.DiscardHandler),
	}
}

// lag is what status says of it.
func (s *soak) lag(t *testing.T) string {
	t.Helper()
	out, _ := (&fleetFixture{dir: s.dir}).furrow(t, "status", "--config", s.config)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "lag") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "no lag"
}

// checkAll waits until all rows up to a time are folded, and fails where that never
// comes. A row that was longer on its way than rows take to settle is folded by an audit,
// which is asked for every ten seconds.
func (s *soak) checkAll(t *testing.T, until time.Time) {
	t.Helper()
	began := time.Now()
	for audited := began; ; time.Sleep(time.Second) {
		if time.Since(audited) > 10*time.Second {
			(&fleetFixture{dir: s.dir}).furrow(t, "audit", "run")
			audited = time.Now()
		}
		found, err := check.Config{Client: s.client, Pipeline: "live", Until: tables.TicksOf(until), Receipts: s.receipts,
			Except: s.except}.Run(t.Context())
		if err == nil && found.Differences == 0 && found.Readings > 0 {
			t.Logf("after %v all is folded: %+v", time.Since(began).Round(time.Second), found)
			return
		}
		if time.Since(began) > 2*time.Minute {
			var lines []string
			for _, d := range found.First {
				lines = append(lines, d.String())
			}
			t.Fatalf("%v; %d differences:\n%s", err, found.Differences, strings.Join(lines, "\n"))
		}
	}
}
