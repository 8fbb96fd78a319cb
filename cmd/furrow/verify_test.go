package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/worker/verify"
)

// newVerified returns a fleet of three devices, whose imported readings are folded.
func newVerified(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	inEmptyDirectory(t)
	at := func(minute int) string {
		return time.Now().UTC().Add(-3 * time.Hour).Truncate(time.Hour).Add(time.Duration(minute) * time.Minute).
			Format(time.RFC3339)
	}
	text := "device,time,temp\n"
	for minute := range 90 {
		for _, d := range []string{"pump-1", "pump-2", "pump-3"} {
			text += d + "," + at(minute) + ",21.5\n"
		}
	}
	writeFile(t, "past.csv", text)
	f.must("enrollment add plant1 --tenant acme")
	f.must("import past.csv --enrollment plant1")
	f.must("schedule --once --pipeline live")
	f.work()
	return f
}

// TestVerifyEndsWithWhatItFound: 0 if all is explained, 1 with what is not, by device, output and time.
func TestVerifyEndsWithWhatItFound(t *testing.T) {
	f := newVerified(t)
	out := f.must("verify --all --values --pipeline live")
	for _, want := range []string{"3 devices, 270 readings stored", "folded         270\n", "Nothing differs.",
		"\n100 % of what was due was folded."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	client := f.client
	for e, err := range client.Table("readings").Entities(t.Context(), tables.Query{Range: tables.Partition("pump-2")}) {
		must(t, err)
		_, err = client.Table("readings").Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
		must(t, err)
		break
	}
	code, out, errs := f.run("verify --tenant acme --pipeline live")
	if code != exitFailed || !strings.Contains(out, "pump-2 live rollups 15m ") || strings.Contains(out, "pump-1") ||
		!strings.Contains(errs, "that nothing explains") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for flags, want := range map[string]string{"pump-2 --sample 1%": "--sample and --after select among devices",
		"pump-2 --after pump-1":      "--sample and --after select among devices",
		"--all --from -2d --last 1d": "--from and --last exclude each other"} {
		f.refused(exitUsage, want, "verify --pipeline live "+flags) // it would look at less than was asked for
	}
	if code, out, _ := f.run("verify pump-1 --pipeline live"); code != exitOK || !strings.Contains(out, "1 device, ") {
		t.Errorf("of another device: exit %d\n%s", code, out)
	}
	out = f.must("verify --all --after pump-2 --pipeline live --json")
	if objects(t, "verify", out); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"device":"pump-3"`) {
		t.Errorf("after pump-2 there are\n%s", out)
	}
}

// TestWhatIsNotDueIsNoLack: a pipeline that runs once a day has not run since the readings came. Only the sums say so.
func TestWhatIsNotDueIsNoLack(t *testing.T) {
	f := newVerified(t)
	awayFromMidnight(time.Minute)
	writeFile(t, "furrow.yaml", "pipelines:\n- {name: live, cadence: 1s, processors: [latest, rollup]}\n"+
		"- {name: files, cadence: 24h, processors: [archive]}\n")
	f.must("config apply furrow.yaml")
	out := f.must("verify --all")
	for _, want := range []string{"\n  folded         270\n", "not yet due, 270 readings for files to fold\n",
		"\n100 % of what was due was folded."} {
		if !strings.Contains(out, want) || strings.Contains(out, "in flight") || strings.Contains(out, "pump-1 files") {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestEachPipelineHasAShare of what it had to fold.
func TestEachPipelineHasAShare(t *testing.T) {
	var sum verifiedTotals
	sum.Add(&verify.Device{Device: "pump-1", Days: []verify.Day{{Stored: 100, Counts: []verify.Count{
		{Pipeline: "archives", Output: "folded", Rows: 50, Want: 100},
		{Pipeline: "live", Output: "folded", Rows: 100, Want: 100}}}},
		Differences: []verify.Difference{{Pipeline: "archives", Output: "folded", Reason: verify.Late, Rows: 50}}})
	const want = `1 device, 100 readings stored
  folded by archives 50 of 100
  folded by live     100
1 difference: late and waiting, 50 readings for archives to fold
50 % of what was due was folded by archives, 100 % of what was due was folded by live.
`
	if is := sum.text(); !strings.HasPrefix(is, want) {
		t.Errorf("the sums are\n%s", is)
	}
}

// TestVerifyCountsWhatDevicesMade: missing numbers are shown, and are the fault of no pipeline.
func TestVerifyCountsWhatDevicesMade(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	text, at := "device,time,temp,fCnt\n", time.Now().UTC().Truncate(24*time.Hour).Add(-12*time.Hour) // of one day
	for n := range 20 {
		if n != 7 {
			text += fmt.Sprintf("pump-1,%s,21.5,%d\n", at.Add(time.Duration(n)*time.Minute).Format(time.RFC3339), 100+n)
		}
	}
	writeFile(t, "past.csv", text)
	writeFile(t, "furrow.yaml", "pipelines: [{name: live, processors: [latest]}]\nsequence: fCnt\n")
	f.must("enrollment add plant1 --tenant acme")
	f.must("import past.csv --enrollment plant1")
	f.must("config apply furrow.yaml")
	f.must("schedule --once --pipeline live")
	f.work()
	out := f.must("verify --all")
	for _, want := range []string{"pump-1 made ", ": missing; 19 readings in storage instead of 20: no row has ",
		"number 107",
		"made           20 by their numbers, 1 of them missing in storage\n",
		"\n95 % of what devices made was stored, 100 % of what was due was folded."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestSharesAreRoundedDown: a share of 100 % is all.
func TestSharesAreRoundedDown(t *testing.T) {
	for want, of := range map[string][2]int64{"100 %": {7, 7}, "99.99 %": {9_999_999, 10_000_000},
		"99.98 %": {9_998, 10_000}, "0 %": {0, 3}, "33.33 %": {1, 3}} {
		if is := percentOf(of[0], of[1]); is != want {
			t.Errorf("%d of %d is %s; want %s", of[0], of[1], is, want)
		}
	}
}

// TestVerifyThatCannotLookSaysSo: its exit code tells an answer from none.
func TestVerifyThatCannotLookSaysSo(t *testing.T) {
	f := newVerified(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	args := append([]string{"verify", "--all", "--storage"}, f.storage)
	if code, _, errs := furrow(stopped, args...); code != exitBlind {
		t.Errorf("told to stop, it ends with %d: %s", code, errs)
	}
	for _, line := range []string{"verify pump-9", "verify --all --after pump-9"} {
		code, _, errs := f.run(line)
		if code != exitBlind || !strings.Contains(errs, `no device "pump-9"; similar IDs: pump-1`) {
			t.Errorf("furrow %s ends with %d: %s", line, code, errs)
		}
	}
	for _, line := range []string{"verify", "verify pump-1 --all", "verify --all --sample 2", "verify --all --sample 0%",
		"verify --all --from -1d --to -2d", "verify --tenant .", "verify pump/1"} {
		if code, _, errs := f.run(line); code != exitUsage {
			t.Errorf("furrow %s: exit %d, %s", line, code, errs)
		}
	}
}

// TestSampleIsAlwaysTheSame, and about as large as asked for.
func TestSampleIsAlwaysTheSame(t *testing.T) {
	f := newVerified(t)
	whole := f.must("verify --all --sample 100% --json")
	if objects(t, "verify", whole); strings.Count(whole, "\n") != 5 {
		t.Errorf("all are\n%s", whole)
	}
	half := func() string {
		named := regexp.MustCompile(`"device":"[^"]+","days"`)
		return strings.Join(named.FindAllString(f.must("verify --all --sample 50% --json"), -1), " ")
	}
	if first := half(); half() != first {
		t.Error("another sample")
	}
}
