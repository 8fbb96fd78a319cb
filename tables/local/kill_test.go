package local_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

var killSeed = flag.Uint64("kill.seed", 0, "seed of the delays; 0 takes one from the clock")

// killRounds is how often a server loses its process, or its power, in a test.
func killRounds() int { return len(effort.Of(8, 2)) }

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
	os.Exit(effort.RunAtOnce(m, 6))
}

// serve is the process that is killed. It serves dir and prints its account.
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

// start starts a server process on dir and returns its account.
func start(t *testing.T, dir string) (azuretest.Account, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveDir+"="+dir)
	cmd.Stderr = os.Stderr
	out := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) // killed already, unless the test failed
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	var a azuretest.Account
	must.Succeed(t, json.Unmarshal(line, &a))
	return a, cmd
}

// A load writes until the server ends, and remembers which writes were acknowledged.
type load interface {
	prepare(t *testing.T, a azuretest.Account) error
	// step does the next write. After an error it may have been done or not.
	step(ctx context.Context) error
	// verify compares what is stored with what was acknowledged.
	verify(ctx context.Context) error
}

func TestKilledServerKeepsEveryAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	endOften(t, func(*rand.Rand) (azuretest.Account, func()) {
		a, server := start(t, dir)
		return a, func() {
			if err := server.Process.Kill(); err != nil {
				t.Error(err)
			}
			server.Wait() // it was killed
		}
	})
}

// endOften writes to a server until it ends, in the middle of writes, and verifies each
// time what the next server has. start returns how to end the server that it starts.
func endOften(t *testing.T, start func(*rand.Rand) (azuretest.Account, func())) {
	t.Helper()
	seed := cmp.Or(*killSeed, uint64(time.Now().UnixNano()))
	t.Logf("seed %d, %d rounds", seed, killRounds())
	random := rand.New(rand.NewPCG(seed, 0))
	var loads []load
	for i := range 4 {
		loads = append(loads, &rowLoad{worker: i, size: 1}, &rowLoad{worker: i, size: 20}, &messageLoad{worker: i},
			&blobLoad{worker: i}, &appendLoad{worker: i})
	}
	total := 0
	for round := range killRounds() + 1 {
		a, end := start(random)
		eachLoad(t, loads, func(l load) error { return l.prepare(t, a) })
		if round > 0 {
			eachLoad(t, loads, func(l load) error { return l.verify(t.Context()) })
		}
		if round < killRounds() {
			total += writeUntilEnd(t, loads, end, time.Duration(50+random.IntN(400))*time.Millisecond)
		}
	}
	t.Logf("%d acknowledged writes", total)
	if total < killRounds()*len(loads) {
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

// writeUntilEnd runs all loads at once, ends the server in the middle, and returns the
// number of acknowledged writes.
func writeUntilEnd(t *testing.T, loads []load, end func(), after time.Duration) int {
	var total atomic.Int64
	var running sync.WaitGroup
	for _, l := range loads {
		running.Go(func() {
			for l.step(t.Context()) == nil {
				total.Add(1)
			}
		})
	}
	ended := make(chan bool)
	go func() { running.Wait(); close(ended) }()
	next := time.After(after) // the random moment is the test
	for enough := false; !enough; next = time.After(10 * time.Millisecond) {
		select {
		case <-next: // on a busy machine there may be little yet
			enough = total.Load() >= int64(len(loads))
		case <-ended: // each write has failed
			enough = true
		}
	}
	end()
	<-ended
	return int(total.Load())
}
