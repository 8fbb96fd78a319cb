package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"furrow/cmd/internal/lab/demo"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
)

// smallestDemo takes seconds.
func smallestDemo(args ...string) []string {
	return append([]string{"demo", "--json", "--devices", "16", "--readings", "320"}, args...)
}

// TestKeptDemoAddsUpAndGoesOn runs a small demo on storage of its own.
func TestKeptDemoAddsUpAndGoesOn(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "The demo is still running", "--keep")
	await(t, "its report", func() bool { return json.Valid([]byte(d.out.String())) }) // two pipes have no order
	addsUp(t, jsonOf[demo.Report](t, d.out.String())[0])
	data, err := filepath.Glob(filepath.Join(d.temporary, "*", "data"))
	if err != nil || len(data) != 1 {
		t.Fatalf("its directories are %q, %v", data, err)
	}
	f := fixtureIn(t, data[0])
	before := f.must("query --tenant contoso --latest")
	if !strings.Contains(before, "contoso:") {
		t.Fatalf("the newest values are %s", before)
	}
	await(t, "its devices to go on", func() bool { return f.must("query --tenant contoso --latest") != before })
	d.mustLeaveNothing(t, exitOK)
}

// addsUp checks the report of a demo that found everything.
func addsUp(t *testing.T, r demo.Report) {
	t.Helper()
	n := r.Readings
	if !r.OK || r.Devices != 18 || len(r.Tenants) != 2 || len(r.Months) < 3 || n.Accepted < 320 ||
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
	if a := r.Alarm; a.Device != "contoso:oven-1" || a.Value != 255 || a.Told <= 0 || a.Obeyed <= 0 ||
		a.Closed <= a.Told || r.Check.Alarms != 2 {
		t.Errorf("the alarm: %+v, %d changes", a, r.Check.Alarms)
	}
	if c := r.Cost; c.Total <= 0 || math.Abs(c.Writes+c.Tokens+c.Work+c.Storage-c.Total) > c.Total/1000 {
		t.Errorf("the cost is %+v", c)
	}
	for _, want := range []string{"18 devices of 2 tenants", "after 1 reading. ", "contoso:oven-1 had 255 °C",
		"0  lost\n", "0  doubled\n", "403 AuthenticationFailed",
		"18 devices with a reading and a run every minute would cost", "East US"} {
		if text := demoText(r); !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestDemoFailsIfAReadingWasChanged runs a demo on an account, and changes an accepted reading there.
func TestDemoFailsIfAReadingWasChanged(t *testing.T) {
	effort.OnlyLong(t, "package check finds what was changed")
	t.Parallel()
	s := startStorage(t, "--data", t.TempDir(), "--show-key")
	client := connect(t, s.said.ConnectionString)
	ctx, stop := context.WithCancel(t.Context())
	tampered := make(chan tables.Entity, 1)
	go func() {
		defer close(tampered)
		for ctx.Err() == nil {
			for _, name := range tableNames(t, s) {
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
	code, out, errs := furrow(ctx, smallestDemo("--storage", s.said.ConnectionString)...)
	stop()
	e, is := <-tampered
	if !is {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	r := jsonOf[demo.Report](t, out)[0]
	if code != exitFailed || r.OK || r.Check.Differences == 0 || string(r.Check.First[0].Device) != e.PartitionKey ||
		!strings.Contains(errs, "differences") {
		t.Errorf("exit %d, ok %t, %+v, %s", code, r.OK, r.Check, errs)
	}
	if !strings.Contains(demoText(r), "THE CHECK FAILED") {
		t.Error("the text does not say so")
	}
	if names := append(tableNames(t, s), queueNames(t, s)...); len(names) > 0 {
		t.Errorf("it leaves %q", names)
	}
	s.mustEnd(t)
}

// queueNames lists the queues of an account.
func queueNames(t *testing.T, s *running[storageScreen]) (names []string) {
	t.Helper()
	client, err := azqueue.NewServiceClientFromConnectionString(s.said.ConnectionString, nil)
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

// A runningDemo is a demo in a process of its own.
type runningDemo struct {
	*exec.Cmd
	temporary string // directory
	out, errs *lockedBuffer
}

// startDemo returns once the demo prints until.
func startDemo(t *testing.T, until string, args ...string) *runningDemo {
	t.Helper()
	d := &runningDemo{temporary: t.TempDir(), out: &lockedBuffer{}, errs: &lockedBuffer{}}
	d.Cmd = startProcess(t, d.out, d.errs, []string{"TMPDIR=" + d.temporary}, smallestDemo(args...)...)
	await(t, d.errs, func() bool { return strings.Contains(d.errs.String(), until) })
	return d
}

// processes returns the processes that the demo has started, and those that have not ended.
func (d *runningDemo) processes(t *testing.T) (started, alive []int) {
	t.Helper()
	for _, m := range regexp.MustCompile(`is process (\d+)`).FindAllStringSubmatch(d.errs.String(), -1) {
		pid, err := strconv.Atoi(m[1])
		must(t, err)
		started = append(started, pid)
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
			alive = append(alive, pid)
		}
	}
	return started, alive
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
	if started, alive := d.processes(t); len(left) > 0 || len(alive) > 0 || len(started) < 2 {
		t.Errorf("of the processes %v it leaves %v, and the files %v", started, alive, left)
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
	await(t, "its processes to end", func() bool { _, alive := d.processes(t); return len(alive) == 0 })
}
