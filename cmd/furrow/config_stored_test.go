package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/config"
)

// batches is a configuration whose batches have n devices.
func batches(n int) string {
	return fmt.Sprintf("# with %d\npipelines: [{name: live, batch: %d, processors: [latest]}]\n", n, n)
}

func TestConfigIsAppliedListedComparedAndRolledBack(t *testing.T) {
	inEmptyDirectory(t)
	y := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", y.dir)
	if out, errs := y.furrow(t, "config", "history"); out != "" ||
		!strings.Contains(errs, "No configuration is stored yet") {
		t.Errorf("of none: %s%s", out, errs)
	}
	for n := range 3 {
		writeConfig(t, fmt.Sprintf("%d.yaml", n), batches(n+1))
	}
	for _, step := range [][2]string{
		{"config apply 0.yaml", "generation 1 is stored: the first one\n"},
		{"config apply 0.yaml", "generation 1 holds, and has this content already\n"},
		{"config apply 1.yaml", "generation 2 is stored: live: batch 1, now 2\nRunning processes follow"},
		{"config show", "pipelines:\n  - name: live\n    cadence: 1m\n    batch: 2\n"},
		{"config show 1 --original", batches(1)},
		{"config diff", "-# with 1\n"},
		{"config diff 2.yaml", "-# with 2\n"},
		{"config diff 1", "+# with 2\n"},
		{"config diff 1 2.yaml", "+# with 3\n"},
		{"config rollback 1", "generation 3 is stored: live: batch 2, now 1\n"},
		{"config show", "# generation 3, stored 2"},
		{"config show --original", batches(1)},
		{"config history", "3  2"},
	} {
		if out, errs := y.furrow(t, strings.Fields(step[0])...); !strings.Contains(out, step[1]) {
			t.Errorf("%s says\n%s%s\nwant %q", step[0], out, errs, step[1])
		}
	}
	var history []generationLine
	out, _ := y.furrow(t, "config", "history", "--json")
	if err := json.Unmarshal([]byte(out), &history); err != nil || len(history) != 3 || history[0].Generation != 3 ||
		history[0].Hash != history[2].Hash || history[0].By == "" {
		t.Errorf("the history is %+v, %v", history, err)
	}
	var change changeLine
	out, _ = y.furrow(t, "config", "rollback", "2", "--json")
	if err := json.Unmarshal([]byte(out), &change); err != nil || change.Generation != 4 || !change.New {
		t.Errorf("rolled back: %s, %v", out, err)
	}
}

func TestConfigCommandsSayWhatIsWrong(t *testing.T) {
	inEmptyDirectory(t)
	y := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", y.dir)
	writeConfig(t, "bad.yaml", "pipelines:\n  - {name: live, batch: 0, processors: [latst]}\n")
	writeConfig(t, "good.yaml", batches(1))
	for line, want := range map[string]struct {
		exit int
		says string
	}{
		"config apply":                       {exitUsage, "name the FILE"},
		"config apply good.yaml more":        {exitUsage, "name the FILE"},
		"config apply none.yaml":             {exitFailed, "none.yaml: there is no such file"},
		"config apply bad.yaml":              {exitFailed, "bad.yaml has 2 problems"},
		"config rollback":                    {exitUsage, "name the GENERATION"},
		"config rollback good.yaml":          {exitUsage, "name the GENERATION"},
		"config rollback 7":                  {exitFailed, "generation 7: there is no such generation"},
		"config show 7":                      {exitFailed, "generation 7: there is no such generation"},
		"config show --json --original":      {exitUsage, "exclude each other"},
		"config diff":                        {exitFailed, "there is no such generation"},
		"config diff 1 2 3":                  {exitUsage, `"3" is another`},
		"config diff good.yaml none.yaml":    {exitFailed, "none.yaml: there is no such file"},
		"config history more":                {exitUsage, "takes no arguments"},
		"config show --storage /no/such/dir": {exitFailed, "'furrow config show FILE' shows a file"},
	} {
		args := strings.Fields(line)
		if !strings.Contains(line, "--storage") {
			args = append(args, "--storage", y.dir)
		}
		if code, out, errs := furrow(t.Context(), args...); code != want.exit || !strings.Contains(errs, want.says) {
			t.Errorf("%s: exit %d, %s%s; want %+v", line, code, out, errs, want)
		}
	}
	if out, _ := y.furrow(t, "config", "history", "--json"); out != "[]\n" {
		t.Errorf("something of it is stored: %s", out)
	}
}

// TestRestartWithAnOldFileTakesNothingBack: what was applied goes on to hold.
func TestRestartWithAnOldFileTakesNothingBack(t *testing.T) {
	inEmptyDirectory(t)
	y := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", y.dir)
	holds := func(generation int64, batch int) {
		t.Helper()
		var all []generationLine
		out, _ := y.furrow(t, "config", "history", "--json")
		if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) == 0 || all[0].Generation != generation {
			t.Fatalf("the history is %s, %v; want generation %d", out, err, generation)
		}
		text, _ := y.furrow(t, "config", "show")
		if c, err := config.Parse("shown", []byte(text)); err != nil || c.Pipelines[0].Batch != batch {
			t.Errorf("what holds is %s, %v; want batches of %d", text, err, batch)
		}
	}
	y.furrow(t, "schedule", "--once")
	holds(1, 50)
	y.furrow(t, "schedule", "--once")
	holds(1, 50)
	writeConfig(t, "furrow.yaml", batches(1))
	_, errs := y.furrow(t, "schedule", "--once")
	holds(2, 1)
	if !strings.Contains(errs, "configuration stored") {
		t.Errorf("of a new file it says %s", errs)
	}
	writeConfig(t, "new.yaml", batches(2))
	y.furrow(t, "config", "apply", "new.yaml")
	holds(3, 2)
	_, errs = y.furrow(t, "schedule", "--once")
	holds(3, 2)
	if !strings.Contains(errs, "configuration file is older than the one that holds") ||
		!strings.Contains(errs, "generation=3") {
		t.Errorf("of an old file it says %s", errs)
	}
	if err := os.Remove("furrow.yaml"); err != nil {
		t.Fatal(err)
	}
	y.furrow(t, "schedule", "--once")
	holds(3, 2)
}

// TestCommandsUseWhatIsStored: whatever file they are given, as long as it is right.
func TestCommandsUseWhatIsStored(t *testing.T) {
	inEmptyDirectory(t)
	y := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", y.dir)
	writeConfig(t, "stored.yaml", strings.Replace(named, "NAME", "stored", 1))
	writeConfig(t, "furrow.yaml", strings.Replace(named, "NAME", "local", 1))
	if out, _ := y.furrow(t, "status"); !strings.HasPrefix(out, "local,") {
		t.Errorf("before anything is stored: %s", out)
	}
	y.furrow(t, "config", "apply", "stored.yaml")
	for _, line := range []string{"status", "status --config furrow.yaml", "jobs list"} {
		if out, _ := y.furrow(t, strings.Fields(line)...); !strings.Contains(out, "stored") ||
			strings.Contains(out, "local") {
			t.Errorf("%s: %s", line, out)
		}
	}
	writeConfig(t, "furrow.yaml", "broken")
	y.furrow(t, "status")
	if code, _, errs := furrow(t.Context(), "status", "--config", "furrow.yaml", "--storage", y.dir); code != exitFailed ||
		!strings.Contains(errs, "furrow.yaml:1:1") {
		t.Errorf("a broken file that is named: exit %d, %s", code, errs)
	}
}

// TestARunningWorkerFollowsConfigApply: without a restart, and without waiting until
// it looks for a newer configuration, as messages name theirs.
func TestARunningWorkerFollowsConfigApply(t *testing.T) {
	y := newFleetFixture(t)
	inEmptyDirectory(t)
	said := &lockedBuffer{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"furrow", "worker", "--storage", y.dir}, nil, io.Discard, said)
	}()
	await := func(what string, is func() bool) {
		t.Helper()
		for !is() {
			select {
			case code := <-ended:
				t.Fatalf("the worker has ended with %d before %s: %s", code, what, said)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	await("it has begun", func() bool { return strings.Contains(said.String(), "generation=1 pipelines=live,archive") })
	writeConfig(t, "furrow.yaml",
		"pipelines: [{name: live, settle: 1s, processors: [latest, rollup]}, {name: quarters, settle: 1s, processors: "+
			"[rollup: {windows: [15m]}]}]")
	y.furrow(t, "config", "apply", "furrow.yaml")
	y.furrow(t, "schedule", "--once", "--every", "1s")
	await("it has followed", func() bool {
		code, out, _ := furrow(t.Context(), "query", "--tenant", "acme", "--window", "15m", "--last", "2d", "--format", "csv",
			"--storage", y.dir)
		return code == exitOK && strings.Count(out, ",temperature,") >= y.devices
	})
	stop()
	if code := <-ended; code != exitOK || !strings.Contains(said.String(), "was=1") {
		t.Errorf("the worker has ended with %d: %s", code, said)
	}
}
