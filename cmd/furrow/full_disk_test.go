package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"

	"github.com/go-json-experiment/json"
)

var (
	diskDir = flag.String("disk.dir", "", "empty directory on a disk of 200 MB for TestFullDiskEndsByItself and "+
		"TestUpStartsOnAFullDisk; as root: mount -t tmpfs -o size=200m tmpfs DIR")
	diskClients = flag.Int("disk.clients", 2000, "idle, slow and stalled connections")
	diskFor     = flag.Duration("disk.for", 30*time.Second, "time for which the disk stays full")
)

// TestFullDiskEndsByItself has a device fill the disk of furrow up with its token, beside connections that do nothing.
// Honest devices go on, or are told to wait. When there is room again, everything goes on without a restart, and
// every reading that was acknowledged is stored.
func TestFullDiskEndsByItself(t *testing.T) {
	if *diskDir == "" {
		t.Skip("needs a small disk: see -disk.dir")
	}
	x := newFullDisk(t)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	for i := range *diskClients {
		running.Go(func() { x.occupy(ctx, i) })
	}
	honest := &sender{x: x, token: x.token(t, "honest"), values: `"temperature":21.5`, statuses: map[int]int{}}
	noise := make([]byte, 22<<10) // storage compresses what it writes
	rand.Read(noise)
	filler := &sender{x: x, token: x.token(t, "filler"), statuses: map[int]int{},
		values: fmt.Sprintf(`"text":"%s"`, base64.StdEncoding.EncodeToString(noise))}
	filling, stop := context.WithCancel(ctx)
	running.Go(func() { honest.send(ctx, 50*time.Millisecond) })
	for range 8 {
		running.Go(func() { filler.send(filling, 0) })
	}
	await(t, "the disk to be full", func() bool { return filler.count(http.StatusInsufficientStorage) > 0 })
	t.Logf("the disk is full: filler %s", filler)
	time.Sleep(*diskFor)
	t.Logf("%v later: honest %s; filler %s; memory %s", *diskFor, honest, filler, peakMemory(x.up))
	stop()
	must(t, os.Remove(x.ballast))
	before := honest.count(http.StatusNoContent)
	began := time.Now()
	await(t, "honest devices to go on", func() bool { return honest.count(http.StatusNoContent) > before+20 })
	t.Logf("%v after there was room: honest %s", time.Since(began).Round(time.Millisecond), honest)
	must(t, honest.unexpected())
	must(t, filler.unexpected())
	await(t, "new readings to be folded", func() bool {
		_, out, _ := x.f.run("query honest --latest")
		return strings.Contains(out, "temperature")
	})
	end()
	running.Wait()
	honest.mustBeStored(t)
	filler.mustBeStored(t)
	t.Logf("in the end: honest %s; filler %s; memory %s", honest, filler, peakMemory(x.up))
	if kB, _, _ := strings.Cut(peakMemory(x.up), " "); kB != "" {
		if n, err := strconv.Atoi(kB); err == nil && n > 512<<10 {
			t.Errorf("up had %d kB of memory at the peak", n)
		}
	}
}

// A fullDisk is furrow up on a small disk, a part of it taken by ballast.
type fullDisk struct {
	f       *fixture
	config  string
	process *exec.Cmd
	up      int // process
	said    upScreen
	key     sas.Key
	ballast string
}

func newFullDisk(t *testing.T) *fullDisk {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(*diskDir, "data")))
	x := &fullDisk{ballast: filepath.Join(*diskDir, "ballast"), config: filepath.Join(t.TempDir(), "furrow.yaml")}
	writeFile(t, x.config, everySecond)
	must(t, os.WriteFile(x.ballast, make([]byte, 60<<20), 0o600))
	x.start(t)
	x.f.must("enrollment add plant1 --tenant contoso")
	var err error
	x.key, err = sas.ParseKey(strings.TrimSpace(x.f.must("enrollment key plant1 --show-key")))
	must(t, err)
	return x
}

// start starts furrow up, and waits for what it says.
func (x *fullDisk) start(t *testing.T) {
	t.Helper()
	dir := filepath.Join(*diskDir, "data")
	var out, log lockedBuffer
	x.process = startProcess(t, &out, &log, nil, "up", "--storage", dir, "--config", x.config,
		"--listen", "127.0.0.1:0", "--storage-port", "0", "--dashboard", "127.0.0.1:0", "--json")
	x.up = x.process.Process.Pid
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.String()[:min(len(log.String()), 20_000)])
		}
	})
	await(t, &log, func() bool { return strings.Contains(out.String(), "\n") })
	must(t, json.Unmarshal([]byte(out.String()), &x.said))
	x.f = fixtureIn(t, dir)
}

func (x *fullDisk) token(t *testing.T, device string) (a sas.Answer) {
	t.Helper()
	proof := x.key.Of(device).Prove("plant1/registrations/"+device, time.Now().Add(time.Hour))
	await(t, "a token", func() bool {
		return post(t, x.said.Endpoint+"/v1/devices/"+device+"/token", nil, http.Header{"Authorization": {proof}}, &a) ==
			http.StatusOK
	})
	return a
}

// occupy keeps a connection open that sends nothing, a byte of a head a second, or a head without its body.
func (x *fullDisk) occupy(ctx context.Context, i int) {
	table, err := url.Parse(x.said.Table)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		if conn, err := net.DialTimeout("tcp", table.Host, 5*time.Second); err == nil {
			x.stall(ctx, conn, i)
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (x *fullDisk) stall(ctx context.Context, conn net.Conn, i int) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	head := "POST /furrow/readings HTTP/1.1\r\nHost: furrow\r\nContent-Type: application/json\r\nContent-Length: " +
		"1000\r\n\r\n"
	switch i % 3 {
	case 1:
		for _, b := range []byte(head) {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	case 2:
		_, _ = io.WriteString(conn, head+"{") // an error shows when it reads
	}
	_, _ = io.Copy(io.Discard, conn) // until the server closes it
}

// A sender sends readings with a token, and remembers which were acknowledged.
type sender struct {
	x      *fullDisk
	token  sas.Answer
	values string

	mu       sync.Mutex
	statuses map[int]int // 0: no answer
	stored   []string    // row keys
	slowest  time.Duration
	last     tables.Ticks
}

func (s *sender) send(ctx context.Context, pause time.Duration) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 40 * time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		s.one(ctx, client)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (s *sender) one(ctx context.Context, client *http.Client) {
	s.mu.Lock()
	s.last = max(s.last+1, tables.TicksOf(time.Now()))
	key := s.last.String()
	s.mu.Unlock()
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,%s}`, s.token.PartitionKey, key, s.values)
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, s.token.URL+"?"+s.token.SAS,
		bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // the token's URL
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Prefer": {"return-no-content"}}
	began, status := time.Now(), 0
	if answer, err := client.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		status = answer.StatusCode
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[status]++
	s.slowest = max(s.slowest, time.Since(began))
	if status == http.StatusNoContent {
		s.stored = append(s.stored, key)
	}
}

func (s *sender) count(status int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.statuses[status]
}

func (s *sender) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%v (status:requests), slowest %v", maps.Clone(s.statuses), s.slowest.Round(time.Millisecond))
}

// unexpected returns an error for a status that does not tell a device to try again later.
func (s *sender) unexpected() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for status, n := range s.statuses {
		switch status {
		case http.StatusNoContent, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		case 0: // an idle connection that gave way; the device sends again
			if n > 10+s.statuses[http.StatusInsufficientStorage]/100 {
				return fmt.Errorf("%s got no answer %d times", s.token.PartitionKey, n)
			}
		default:
			return fmt.Errorf("%s got status %d %d times", s.token.PartitionKey, status, n)
		}
	}
	return nil
}

func (s *sender) mustBeStored(t *testing.T) {
	t.Helper()
	there := map[string]bool{}
	rows := s.x.f.client.Table("readings").Rows(t.Context(), tables.Query{
		Range: tables.Range{Partitions: tables.Is(string(s.token.PartitionKey))}})
	for page, err := range rows {
		must(t, err)
		for _, row := range page.Rows {
			there[row.RowKey] = true
		}
	}
	lost := 0
	for _, key := range s.stored {
		if !there[key] {
			lost++
		}
	}
	if lost > 0 || len(s.stored) == 0 {
		t.Errorf("%s: %d of %d acknowledged readings are lost", s.token.PartitionKey, lost, len(s.stored))
	}
	t.Logf("%s: %d acknowledged, %d stored", s.token.PartitionKey, len(s.stored), len(there))
}
