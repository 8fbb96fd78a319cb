package local_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/local"
)

var (
	killRounds = flag.Int("kill.rounds", 4, "how often TestKilledServerKeepsEveryAcknowledgedWrite kills the server")
	killSeed   = flag.Uint64("kill.seed", 0, "seed of its delays; 0 takes one from the clock")
)

// serveDir names the directory that a copy of the test binary is to serve.
const serveDir = "FURROW_TEST_SERVE_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveDir); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve is the process that is killed: it serves dir and prints where.
func serve(dir string) error {
	s, err := local.Start(local.Config{Dir: dir})
	if err != nil {
		return err
	}
	err = json.NewEncoder(os.Stdout).Encode(azuretest.Account{Name: s.Account(), Key: s.Key(),
		TableURL: s.TableURL, QueueURL: s.QueueURL, BlobURL: s.BlobURL})
	if err != nil {
		return err
	}
	select {} // until it is killed
}

// start starts a server process on dir and gives its account.
func start(t *testing.T, dir string) (azuretest.Account, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) // killed already, unless the test failed
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	var a azuretest.Account
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatal(err)
	}
	return a, cmd
}

// A load writes until the server is gone, and remembers what was acknowledged.
type load interface {
	prepare(t *testing.T, a azuretest.Account) error
	// step does the next write; an error means that it may or may not have been done.
	step(ctx context.Context) error
	// verify compares what is there with what was acknowledged.
	verify(ctx context.Context) error
}

func TestKilledServerKeepsEveryAcknowledgedWrite(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d rounds", seed, *killRounds)
	random := rand.New(rand.NewPCG(seed, 0))
	var loads []load
	for i := range 4 {
		loads = append(loads, &rowLoad{worker: i}, &transactionLoad{worker: i}, &messageLoad{worker: i},
			&blobLoad{worker: i})
	}
	dir := t.TempDir()
	total := 0
	for round := range *killRounds {
		a, server := start(t, dir)
		eachLoad(t, loads, func(l load) error { return l.prepare(t, a) })
		if round > 0 {
			eachLoad(t, loads, func(l load) error { return l.verify(t.Context()) })
		}
		done := writeUntilKilled(t, loads, server, time.Duration(50+random.IntN(400))*time.Millisecond)
		total += done
		if t.Failed() {
			t.Fatalf("round %d, seed %d", round, seed)
		}
	}
	a, _ := start(t, dir)
	eachLoad(t, loads, func(l load) error { return l.prepare(t, a) })
	eachLoad(t, loads, func(l load) error { return l.verify(t.Context()) })
	t.Logf("%d acknowledged writes", total)
	if total < *killRounds*len(loads) {
		t.Errorf("%d acknowledged writes are too few to mean anything", total)
	}
}

// eachLoad runs f for all loads at once, and ends the test if one fails.
func eachLoad(t *testing.T, loads []load, f func(load) error) {
	t.Helper()
	var running sync.WaitGroup
	for _, l := range loads {
		running.Go(func() {
			if err := f(l); err != nil {
				t.Errorf("%T: %v", l, err)
			}
		})
	}
	running.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// writeUntilKilled runs all loads at once, kills the server in the middle, and
// gives the number of acknowledged writes.
func writeUntilKilled(t *testing.T, loads []load, server *exec.Cmd, after time.Duration) int {
	counts := make([]int, len(loads))
	var running sync.WaitGroup
	for i, l := range loads {
		running.Go(func() {
			for l.step(t.Context()) == nil {
				counts[i]++
			}
		})
	}
	time.Sleep(after) // the random moment is the test
	if err := server.Process.Kill(); err != nil {
		t.Error(err)
	}
	running.Wait()
	server.Wait() // it was killed
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
