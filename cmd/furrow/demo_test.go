package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"furrow/cmd/internal/demo"
	"furrow/tables"
)

// smallestDemo is one that is over within seconds.
func smallestDemo(args ...string) []string {
	return append([]string{"demo", "--json", "--devices", "16", "--readings", "320"}, args...)
}

// TestKeptDemoAddsUpAndGoesOn plays a small one on storage of its own.
func TestKeptDemoAddsUpAndGoesOn(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "It is still running", "--keep")
	var r demo.Report
	must(t, json.NewDecoder(d.out).Decode(&r))
	addsUp(t, r)
	data, err := filepath.Glob(filepath.Join(d.temporary, "*", "data"))
	if err != nil || len(data) != 1 {
		t.Fatalf("its directories are %q, %v", data, err)
	}
	latest := func() string {
		code, out, errs := furrow(t.Context(), "query", "--tenant", "contoso", "--latest", "--storage", data[0])
		if code != exitOK || !strings.Contains(out, "contoso:") {
			t.Fatalf("a query of what was kept: exit %d, %s%s", code, out, errs)
		}
		return out
	}
	for before, began := latest(), time.Now(); latest() == before; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("its devices send no more:\n%s", before)
		}
	}
	d.mustLeaveNothing(t, exitOK)
}

// addsUp holds a report to what it has to say.
func addsUp(t *testing.T, r demo.Report) {
	t.Helper()
	n := r.Readings
	if !r.OK || r.Devices != 17 || len(r.Tenants) != 2 || len(r.Months) < 3 || n.Accepted < 320 ||
		n.Folded != n.Accepted || n.Lost+n.Doubled != 0 {
		t.Errorf("%+v", r)
	}
	if c := r.Check; c.Differences != 0 || c.Readings != n.Accepted || c.Devices != r.Devices || c.Waiting != 0 ||
		c.Buckets["1d"] < r.Devices || c.Buckets["1m"] < c.Buckets["1h"] || c.Rejected != n.Rejected {
		t.Errorf("the check says %+v", c)
	}
	if k := r.Takeover; k.Killed == k.By || k.First <= 0 || k.All < k.First || k.Stored >= n.Accepted ||
		k.Devices > r.Devices {
		t.Errorf("taken over: %+v", k)
	}
	if v := r.Revoked; v.Stored != 1 || v.Write != "403 AuthenticationFailed" || v.Token != "403 revoked" {
		t.Errorf("revoked: %+v", v)
	}
	if w := r.Work; w.Devices < 17 || w.Rows < 8 || w.Rows > 16 || w.PerDevice["queues delete"] <= 0 ||
		w.PerDevice["tables query"] < 1 {
		t.Errorf("a run took %+v", w)
	}
	dollars := r.Cost.Writes + r.Cost.Storage
	for _, d := range r.Cost.ByKind {
		dollars += d
	}
	if r.Cost.Total <= 0 || dollars/r.Cost.Total < 0.999 || dollars/r.Cost.Total > 1.001 {
		t.Errorf("the cost is %+v", r.Cost)
	}
	for _, want := range []string{"17 devices of 2 tenants", "after 1 reading. ", "0  lost\n", "0  doubled\n",
		"403 AuthenticationFailed", "tables query", "East US"} {
		if text := demoText(r); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestDemoFailsWhereARowWasTamperedWith plays one on an account, and alters a reading
// there that a device was told is stored.
func TestDemoFailsWhereARowWasTamperedWith(t *testing.T) {
	t.Parallel()
	s := startStorage(t, nil, "--data", t.TempDir(), "--show-key")
	account, err := tables.ParseAccount(s.ConnectionString)
	must(t, err)
	client, err := tables.Connect(tables.Config{Account: account})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	tampered := make(chan tables.Entity, 1)
	go func() {
		defer close(tampered)
		for ctx.Err() == nil {
			for _, name := range s.tableNames(t) {
				if !strings.HasSuffix(name, "readings") {
					continue
				}
				for page, err := range client.Table(name).Rows(ctx, tables.Query{Size: 1}) {
					if err != nil || len(page.Rows) == 0 {
						break
					}
					e := tables.Entity{PartitionKey: page.Rows[0].PartitionKey, RowKey: page.Rows[0].RowKey}
					e.Set("lid", tables.String("ajar"))
					if _, err := client.Table(name).Do(ctx, tables.Merge(e, tables.AnyETag)); err == nil {
						tampered <- e
						return
					}
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	code, out, errs := furrow(ctx, smallestDemo("--storage", s.ConnectionString)...)
	stop()
	e, is := <-tampered
	var r demo.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || !is {
		t.Fatalf("%v, exit %d: %s%s", err, code, out, errs)
	}
	if code != exitFailed || r.OK || r.Check.Differences == 0 || string(r.Check.First[0].Device) != e.PartitionKey ||
		!strings.Contains(errs, "differences") {
		t.Errorf("exit %d, ok %t, %+v, %s", code, r.OK, r.Check, errs)
	}
	if !strings.Contains(demoText(r), "THE CHECK HAS FAILED") {
		t.Error("the text does not say so")
	}
	if names := append(s.tableNames(t), queueNames(t, s)...); len(names) > 0 {
		t.Errorf("it leaves %q", names)
	}
	s.mustEnd(t)
}

// queueNames are the queues of an account.
func queueNames(t *testing.T, s *running) (names []string) {
	t.Helper()
	client, err := azqueue.NewServiceClientFromConnectionString(s.ConnectionString, nil)
	must(t, err)
	for pager := client.NewListQueuesPager(nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, q := range page.Queues {
			names = append(names, *q.Name)
		}
	}
	return names
}

// A runningDemo is one in a process of its own.
type runningDemo struct {
	*exec.Cmd
	temporary string // directory
	out       io.Reader
	pids      []int // of the processes that it has started
}

// startDemo waits until it says something.
func startDemo(t *testing.T, until string, args ...string) *runningDemo {
	t.Helper()
	d := &runningDemo{Cmd: exec.Command(os.Args[0], smallestDemo(args...)...), temporary: t.TempDir()}
	d.Env = append(os.Environ(), asFurrow+"=1", "TMPDIR="+d.temporary)
	var err error
	d.out, err = d.StdoutPipe()
	must(t, err)
	errs, err := d.StderrPipe()
	must(t, err)
	must(t, d.Start())
	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() }) // most have ended
	process := regexp.MustCompile(`is process (\d+)`)
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		if m := process.FindStringSubmatch(lines.Text()); m != nil {
			pid, err := strconv.Atoi(m[1])
			must(t, err)
			d.pids = append(d.pids, pid)
		}
		if strings.Contains(lines.Text(), until) {
			go func() { _, _ = io.Copy(io.Discard, errs) }() // so that it is never in its way
			return d
		}
	}
	t.Fatal("it has ended")
	return nil
}

// alive tells which of the processes have not ended.
func (d *runningDemo) alive(t *testing.T) []int {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(d.pids), func(pid int) bool {
		p, err := os.FindProcess(pid)
		return err != nil || p.Signal(syscall.Signal(0)) != nil
	})
}

// mustLeaveNothing interrupts it.
func (d *runningDemo) mustLeaveNothing(t *testing.T, exit int) {
	t.Helper()
	must(t, d.Process.Signal(os.Interrupt))
	_ = d.Wait()
	if code := d.ProcessState.ExitCode(); code != exit {
		t.Errorf("exit %d, want %d", code, exit)
	}
	left, err := os.ReadDir(d.temporary)
	must(t, err)
	if pids := d.alive(t); len(left) > 0 || len(pids) > 0 || len(d.pids) < 2 {
		t.Errorf("of the processes %v it leaves %v, and of files %v", d.pids, pids, left)
	}
}

func TestInterruptedDemoLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	startDemo(t, "sending readings").mustLeaveNothing(t, exitFailed)
}

func TestKilledDemoTakesItsProcessesWithIt(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "registering devices") // later, a worker that has lost its storage takes a while to give up
	must(t, d.Process.Kill())
	_ = d.Wait()
	for began := time.Now(); len(d.alive(t)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("of the processes %v, %v go on", d.pids, d.alive(t))
		}
	}
}

func TestDemoSaysWhatIsWrongWithItsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--devices 1":                       "--devices is 1; it must be from 2 to 20000",
		"--devices 100 --readings 100":      "--readings is 100, which is 1 of each device",
		"--keep-times":                      "--keep-times is about a file; name it with --replay",
		"--replay x.csv --devices 5":        "--devices and --readings are about a fleet that is made up",
		"--replay nosuch.csv":               "nosuch.csv: no such file",
		"--storage /tmp":                    "--storage is a directory",
		"--storage https://a.example/x?sv=": "--storage: ",
		"--storage env:NO_SUCH_VARIABLE":    "NO_SUCH_VARIABLE holds nothing",
		"more":                              `takes no arguments, and "more" is one`,
	} {
		code, out, errs := furrow(t.Context(), append([]string{"demo"}, strings.Fields(args)...)...)
		if !strings.Contains(errs, want) || out != "" || (code != exitUsage && !strings.Contains(want, "no such file")) {
			t.Errorf("%s: exit %d, %s%s; want %q", args, code, out, errs, want)
		}
	}
}
