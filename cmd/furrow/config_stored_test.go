package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"furrow/cmd/internal/config"
)

// batches is a configuration whose batches have n devices.
func batches(n int) string {
	return fmt.Sprintf("# with %d\npipelines: [{name: live, batch: %d, processors: [latest]}]\n", n, n)
}

func TestConfigIsAppliedListedComparedAndRolledBack(t *testing.T) {
	inEmptyDirectory(t)
	f := newFixture(t)
	if out, errs := f.both("config history --json"); out != "" || !strings.Contains(errs,
		"no configuration is stored yet") {
		t.Errorf("an empty history is %s%s", out, errs)
	}
	for n := range 3 {
		writeFile(t, fmt.Sprintf("%d.yaml", n), batches(n+1))
	}
	for _, step := range [][2]string{
		{"config apply 0.yaml", "generation 1 is stored: the first one\n"},
		{"config apply 0.yaml", "generation 1 is current, and has this content already\n"},
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
		{"config history --format table", "         3  2"},
	} {
		if out := f.must(step[0]); !strings.Contains(out, step[1]) {
			t.Errorf("%s prints\n%s\nwant %q", step[0], out, step[1])
		}
	}
	history := jsonOf[generationLine](t, f.must("config history --json"))
	if len(history) != 3 || history[0].Generation != 3 || history[0].Hash != history[2].Hash || history[0].By == "" {
		t.Errorf("the history is %+v", history)
	}
	if c := jsonOf[changeLine](t, f.must("config rollback 2 --json"))[0]; c.Generation != 4 || !c.New {
		t.Errorf("the rollback is %+v", c)
	}
}

func TestConfigCommandsRefuseInvalidArguments(t *testing.T) {
	inEmptyDirectory(t)
	f := newFixture(t)
	writeFile(t, "bad.yaml", "pipelines:\n  - {name: live, batch: 0, processors: [latst]}\n")
	writeFile(t, "good.yaml", batches(1))
	for line, want := range map[string]string{
		"config apply":                  "name the FILE",
		"config apply good.yaml more":   "too many",
		"config rollback":               "name the GENERATION",
		"config rollback good.yaml":     "name the GENERATION",
		"config show --json --original": "exclude each other",
		"config diff 1 2 3":             `"3" is one argument too many`,
		"config history more":           "takes no arguments",
	} {
		f.refused(exitUsage, want, line)
	}
	for line, want := range map[string]string{
		"config apply none.yaml":             "none.yaml: there is no such file",
		"config rollback 7":                  "generation 7: there is no such generation",
		"config show 7":                      "generation 7: there is no such generation",
		"config diff":                        "there is no such generation",
		"config diff good.yaml none.yaml":    "none.yaml: there is no such file",
		"config show --storage /no/such/dir": "'furrow config show FILE' shows a file",
	} {
		f.refused(exitFailed, want, line)
	}
	if code, out, errs := f.run("config apply bad.yaml"); code != exitFailed || strings.Count(out, "bad.yaml:2:") != 2 ||
		!strings.Contains(errs, "bad.yaml has 2 problems") {
		t.Errorf("bad.yaml: exit %d, %s%s", code, out, errs)
	}
	if out := f.must("config history --json"); out != "" {
		t.Errorf("something is stored: %s", out)
	}
}

// TestRestartWithAnOldFileRevertsNothing: an applied configuration stays in force.
func TestRestartWithAnOldFileRevertsNothing(t *testing.T) {
	inEmptyDirectory(t)
	f := newFixture(t)
	holds := func(generation int64, batch int) {
		t.Helper()
		all := jsonOf[generationLine](t, f.must("config history --json"))
		if len(all) == 0 || all[0].Generation != generation {
			t.Fatalf("the history is %+v; want generation %d", all, generation)
		}
		text := f.must("config show")
		if c, err := config.Parse("shown", []byte(text)); err != nil || c.Pipelines[0].Batch != batch {
			t.Errorf("the configuration is %s, %v; want batches of %d", text, err, batch)
		}
	}
	for range 2 {
		f.must("schedule --once")
		holds(1, 50)
	}
	writeFile(t, "furrow.yaml", batches(1))
	_, errs := f.both("schedule --once")
	holds(2, 1)
	if !strings.Contains(errs, "configuration stored") {
		t.Errorf("with a new file it logs %s", errs)
	}
	writeFile(t, "new.yaml", batches(2))
	f.must("config apply new.yaml")
	holds(3, 2)
	_, errs = f.both("schedule --once")
	holds(3, 2)
	if !strings.Contains(errs, "configuration file is older than the current generation") ||
		!strings.Contains(errs, "generation=3") {
		t.Errorf("with an old file it logs %s", errs)
	}
	must(t, os.Remove("furrow.yaml"))
	f.must("schedule --once")
	holds(3, 2)
}

// TestCommandsUseTheStoredConfiguration: whatever valid file they are given.
func TestCommandsUseTheStoredConfiguration(t *testing.T) {
	inEmptyDirectory(t)
	f := newFixture(t)
	writeFile(t, "stored.yaml", named("stored"))
	writeFile(t, "furrow.yaml", named("local"))
	if out := f.must("status"); !strings.HasPrefix(out, "local,") {
		t.Errorf("before a configuration is stored: %s", out)
	}
	f.must("config apply stored.yaml")
	for _, line := range []string{"status", "status --config furrow.yaml", "jobs list"} {
		if out := f.must(line); !strings.Contains(out, "stored") || strings.Contains(out, "local") {
			t.Errorf("%s: %s", line, out)
		}
	}
	writeFile(t, "furrow.yaml", "broken")
	f.must("status")
	f.refused(exitFailed, "furrow.yaml:1:1", "status --config furrow.yaml")
}

// TestARunningWorkerFollowsConfigApply: without a restart, and without waiting for its next check of the
// configuration, because messages name the generation that they need.
func TestARunningWorkerFollowsConfigApply(t *testing.T) {
	f := newFoldedFixture(t)
	inEmptyDirectory(t)
	said := &lockedBuffer{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"furrow", "worker", "--storage", f.storage}, nil, io.Discard, said) }()
	await(t, said, func() bool {
		return strings.Contains(said.String(), "generation=1 pipelines=live,archive")
	})
	writeFile(t, "furrow.yaml", "pipelines: [{name: live, settle: 1s, processors: [latest, rollup]}, "+
		"{name: halves, settle: 1s, processors: [rollup: {windows: [30m]}]}]")
	f.must("config apply furrow.yaml")
	f.must("schedule --once --every 1s")
	await(t, said, func() bool {
		code, out, _ := f.run("query --tenant acme --window 30m --last 2d --format csv")
		return code == exitOK && strings.Count(out, ",temperature,") >= len(f.devices)
	})
	stop()
	if code := <-ended; code != exitOK || !strings.Contains(said.String(), "was=1") {
		t.Errorf("the worker has ended with %d: %s", code, said)
	}
}
