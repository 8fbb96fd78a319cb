package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
)

func TestEveryCommandThatPrintsHasJSON(t *testing.T) {
	without := map[string]bool{"worker": true, // which only logs
		"completion": true}
	allCommands(func(name string, c *cli.Command) {
		if has := flagOf(c, "json") != nil; has == without[name] {
			t.Errorf("furrow %s has --json: %v", name, has)
		}
		if list := strings.HasSuffix(name, " list"); list && flagOf(c, "format") == nil {
			t.Errorf("furrow %s has no --format: see listFlags", name)
		}
	})
}

// TestJSONIsAnObjectALine runs every command with --json that is not a server; other tests read the
// lines of those.
func TestJSONIsAnObjectALine(t *testing.T) {
	others := map[string]bool{"up": true, "storage": true, "dashboard": true, "sas": true, "demo": true, "simulate": true,
		"model show": true,                                      // which needs a model
		"health":     true,                                      // which needs a server
		"rule show":  true, "rule try": true, "rule test": true, // which need a rule
		"incident show": true, "incident ack": true, "incident note": true, "mute remove": true,
		"notify test": true,               // which needs a target
		"restore":     true, "copy": true, // which need a backup, and two storages
		"cost":            true,                            // which needs reports
		"archive rewrite": true,                            // which needs Parquet files
		"retention run":   true, "retention explain": true, // which need a retention
		"command cancel": true} // which needs a command
	f := newFixture(t)
	inEmptyDirectory(t)
	writeFile(t, "good.yaml", batches(1))
	writeFile(t, "fleet.csv", "id\npump-8\n")
	writeFile(t, "past.csv", "device,time,temp\npump-7,2025-11-20T10:00:00Z,21\n")
	f.must("enrollment add plant1 --tenant acme --commands --json")
	f.must("device add pump-7 --json")
	f.must("schedule --once --json")
	f.work()
	arguments := map[string]string{"query": "pump-7 --latest", "rejects": "pump-7", "rewind": "pump-7 --to -1h",
		"schedule": "--once", "config apply": "good.yaml", "config check": "good.yaml", "config init": "new.yaml",
		"deploy init": "systemd deploy", "backup": "saved", "estimate": "--devices 1000",
		"config diff": "1", "config rollback": "1", "jobs purge": "--yes", "device import": "fleet.csv", "import": "past.csv",
		"device add": "pump-9", "device set": "pump-7 --site hall", "device show": "pump-7", "device key": "pump-7",
		"device move":   "pump-9 --tenant fabrikam",
		"device revoke": "pump-7", "device restore": "pump-7", "device release": "--all", "token": "pump-7",
		"enrollment add": "plant2 --tenant acme", "enrollment set": "plant2 --batch 7", "enrollment disable": "plant2",
		"enrollment enable": "plant2", "enrollment revoke": "plant2 --yes", "enrollment rotate": "plant2 --yes",
		"enrollment key": "plant2 --show-key", "access add": "alice --role viewer", "access rotate": "alice",
		"access remove": "alice", "model try": "--device pump-7", "device remove": "pump-9 --yes",
		"token revoke": "--all --yes", "command send": "pump-7 1", "command list": "pump-7",
		"device desired set": "pump-7 1", "device desired show": "pump-7", "mute add": "--rule hot --until 1h",
		"archive files": "--tenant acme", "archive copy": "--tenant acme", "archive download": "--tenant acme here",
		"verify": "--all"}
	allCommands(func(name string, c *cli.Command) {
		if others[name] || flagOf(c, "json") == nil {
			return
		}
		line := name + " --json " + arguments[name]
		if flagOf(c, "storage") == nil {
			code, out, errs := furrow(t.Context(), strings.Fields(line)...)
			objects(t, line, out)
			if code != exitOK {
				t.Errorf("furrow %s: exit %d, %s", line, code, errs)
			}
			return
		}
		if flagOf(c, "enrollment") != nil && !strings.Contains(line, "enrollment ") {
			line += " --enrollment plant1"
		}
		objects(t, line, f.must(line))
	})
	writeFile(t, "bad.yaml", "pipelines: [{name: live, batch: 0, processors: [latst]}]\n")
	code, out, _ := furrow(t.Context(), "config", "check", "--json", "bad.yaml")
	if problems := jsonOf[config.Problem](t, out); code != exitFailed || len(problems) != 2 || problems[0].Line != 1 {
		t.Errorf("config check: exit %d, %+v", code, problems)
	}
}

// objects fails if a line of an output is not one object.
func objects(t *testing.T, line, out string) {
	t.Helper()
	for text := bufio.NewScanner(strings.NewReader(out)); text.Scan(); {
		if err := json.Unmarshal(text.Bytes(), &map[string]any{}); err != nil {
			t.Errorf("furrow %s prints %q: %v", line, text.Text(), err)
		}
	}
}
