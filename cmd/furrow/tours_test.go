package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/tables/azuretest/effort"
)

// tourOf returns the shell blocks of a fleet's tour: before up, the line of up, and what follows in another shell.
func tourOf(t *testing.T, fleet string) (before, up string, after []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)```\n").FindAllStringSubmatch(
		text(t, "reference/"+fleet+".md"), -1) {
		if lines, line, is := strings.Cut(block[1], "./furrow up "); is {
			before, up = lines, "./furrow up "+strings.TrimSpace(line)
		} else {
			after = append(after, block[1])
		}
	}
	if up == "" || before == "" || len(after) < 2 {
		t.Fatalf("the tour of %s is %q, %q, %q", fleet, before, up, after)
	}
	return before, up, after
}

// TestEveryFleetHasATourThatWorks pastes the tour of each fleet into a shell, in an empty folder, with free ports,
// runs every second, and less time for the simulation.
func TestEveryFleetHasATourThatWorks(t *testing.T) {
	effort.OnlyLong(t, "TestReadmeCommandsExist looks for the commands, and their own tests run them")
	needTools(t)
	for _, fleet := range fleets.Names() {
		t.Run(fleet, func(t *testing.T) {
			t.Parallel()
			runTour(t, fleet)
		})
	}
}

func runTour(t *testing.T, fleet string) {
	before, up, after := tourOf(t, fleet)
	dir := t.TempDir()
	linkProgram(t, dir)
	shell := func(lines string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sh", "-eu", "-c", lines)
		c.Dir = dir
		return c
	}
	all := ""
	paste := func(lines string) string {
		out, err := shell(lines).CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", lines, err, out)
		}
		t.Logf("%s\n%s", lines, out)
		all += string(out)
		return string(out)
	}
	paste(before)
	hurry(t, filepath.Join(dir, fleet+".yaml"))
	running := shell("exec " + up + " --listen 127.0.0.1:0 --storage-port 0 --dashboard 127.0.0.1:0")
	said := &lockedBuffer{}
	running.Stdout, running.Stderr = said, said
	must(t, running.Start())
	t.Cleanup(func() { _ = running.Wait() })
	t.Cleanup(func() { _ = running.Process.Signal(os.Interrupt) })
	await(t, said, func() bool { return strings.Contains(said.String(), "Stop it with Ctrl-C") })
	for _, block := range after {
		if strings.Contains(block, "jq ") && exec.Command("jq", "--version").Run() != nil {
			t.Log("jq is not on this machine")
			continue
		}
		if !strings.Contains(block, "simulate ") {
			paste(block)
			continue
		}
		stored := regexp.MustCompile(`([\d,]+)  of them were stored`).FindStringSubmatch(
			paste(strings.Replace(block, "--for 1m", "--for 8s", 1)))
		n, err := strconv.ParseInt(strings.ReplaceAll(stored[1], ",", ""), 10, 64)
		must(t, err)
		await(t, fmt.Sprint(n, " rows to be folded"), func() bool {
			out, err := shell("./furrow status --json").Output()
			must(t, err)
			status := jsonOf[pipelineStatus](t, string(out))
			i := slices.IndexFunc(status, func(s pipelineStatus) bool { return s.Pipeline == "live" })
			return i >= 0 && status[i].Rows >= n
		})
	}
	for _, want := range tourShows()[fleet] {
		if !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("it does not show %s", want)
		}
	}
	if strings.Contains(all, ",rejected: ") || strings.Contains(all, "furrow: no readings") ||
		regexp.MustCompile(`rejects +[1-9]`).MatchString(all) {
		t.Error("something was rejected, or is missing")
	}
}

// hurry has the first pipeline of a file run every second.
func hurry(t *testing.T, file string) {
	t.Helper()
	config := strings.Replace(text(t, file), "  - name: live\n", "  - name: live\n    cadence: 1s\n    settle: 1s\n", 1)
	must(t, os.WriteFile(file, []byte(config), 0o600))
}

// tourShows returns what each tour prints, as regular expressions.
func tourShows() map[string][]string {
	return map[string][]string{
		"temperatures": {"stuck sensor", "silence", `,Temprature,\d`, `XYZ-23443,.*,temperature,6\d`,
			`Temprature,\d+,temperature,\d+,renamed`, "CustomerId,Microsoft,,,ignored", "microsoft-wall",
			`"no reading for 3m, `},
		"kitchens": {"too hot", "silence", "stuck sensor", ",data_oilProbeTemp,3", ",oilProbeTemp,3",
			"class.*Fryer", ",powerCycleID,213876154", "leftMenuItemString,MANUAL", ",1[0-9]+,",
			`data_oilProbeTemp,118.9,oilProbeTemp,118.9,renamed`, "data_menu_0,MANUAL,menu_0,MANUAL,renamed",
			`,(queued|received|succeeded|expired),"\{""setpoint"":325\}",.*,rule overheating,`,
			`"no reading for 90s, `},
		"oil": {"bad quality", "too hot", "stuck sensor", "silence", ",vibration,", ",rpm,1", "long: tagName, value",
			`temperature,[\d.]+,temperature,[\d.]+,kept`, "quality,true,,,quality",
			`,(queued|received|succeeded|expired),"\{""rpm"":900\}",.*,rule overheating,`,
			`"no reading for 15s, `},
		"bottles": {"dose missed", "left open", "silence", "Cordrazine", ",action,,opened,", ",action,,closed,",
			",number_of_pills,", "user_id,user1024,,,ignored", `pills_taken,\d+,\d+`, `"no reading for 1h, `},
		"ground": {"warming", "stuck sensor", "silence", ",temperature_10cm,", "per_hour",
			"ground-1,.*,temperature_50cm,", `"no reading for 3h, `},
	}
}
