package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// TestCommandGoesTheWholeWay: from a person to what a device has acknowledged.
func TestCommandGoesTheWholeWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	f.refused(exitFailed, "its enrollment has no commands", "command send pump-7 1")
	f.says("for $0.0003 on Azure", "enrollment set plant1 --commands")
	f.refused(exitUsage, "not valid JSON", "command send pump-7", "{heater:off}")
	f.refused(exitUsage, "it must be at most 7d", "command send pump-7 1 --ttl 8d")
	sent := jsonOf[answers.Command](t, f.must("command send pump-7 --ttl 10m --json", `{"heater":"off"}`))[0]
	gone := jsonOf[answers.Command](t, f.must("command send pump-7 2 --json"))[0]
	f.says("is canceled", "command cancel pump-7", string(gone.ID))
	token := jsonOf[sas.Answer](t, f.must("token pump-7 --json"))[0]
	if token.CommandsSAS == "" || token.CommandsWaiting != 1 {
		t.Errorf("the token's answer says that %d commands wait", token.CommandsWaiting)
	}
	ack := oil("pump-7", time.Now().Add(-time.Minute), 1)
	ack.Set(schema.AckProperty, tables.String(`{"id":"`+string(sent.ID)+`","state":"succeeded","result":{"was":"on"}}`))
	if _, err := f.client.Table("readings").Do(t.Context(), tables.Insert(ack)); err != nil {
		t.Fatal(err)
	}
	f.must("schedule --once")
	f.work()
	all := jsonOf[answers.Command](t, f.must("command list pump-7 --json"))
	if len(all) != 2 || all[0].State != "canceled" || all[1].State != "succeeded" || all[1].Who == "" ||
		fmt.Sprint(all[1].Result) != "map[was:on]" {
		t.Errorf("%+v", all)
	}
	f.refused(exitFailed, "is succeeded: the device has taken it", "command cancel pump-7", string(sent.ID))
	if _, _, errs := f.run("device desired show pump-7"); !strings.Contains(errs, "no configuration is set") {
		t.Errorf("without a configuration: %s", errs)
	}
	f.must("device desired set pump-7 --json", `{"limit":180}`)
	f.says(`""limit"":180`, "device desired show pump-7 --format csv")
	if out := f.must("activity --format csv"); !strings.Contains(out, "command send") ||
		!strings.Contains(out, "device desired set") || !strings.Contains(out, "command cancel") {
		t.Errorf("activity: %s", out)
	}
}

// TestCommandsExampleObeysWithCurl runs the example for the shell against storage. Of oven-4, the last row that storage
// answers is the desired configuration; of oven-3, a command.
func TestCommandsExampleObeysWithCurl(t *testing.T) {
	effort.OnlyLong(t, "TestCommandGoesTheWholeWay does without other programs")
	t.Parallel() // it mostly waits
	needTools(t)
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme --commands")
	devices := []string{"oven-3", "oven-4"}
	for _, device := range devices {
		f.must("device add --enrollment plant1", device)
	}
	f.must("device desired set oven-4 7")
	const body = `{"heater": "off", "text": "a \"b\" \\ c"}`
	for _, device := range devices {
		sent := jsonOf[answers.Command](t, f.must("command send --json", device, body))[0]
		script := exec.CommandContext(t.Context(), "sh", "../../sas/device/examples/shell/commands.sh")
		script.Stdin = strings.NewReader(f.must("token --json", device))
		out, err := script.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "succeeded "+string(sent.ID)) ||
			!strings.Contains(string(out), "obeying "+body) {
			t.Fatalf("%s: %v: %s", device, err, out)
		}
	}
	for {
		f.must("schedule --once")
		f.work()
		done := 0
		for _, device := range devices {
			if jsonOf[answers.Command](t, f.must("command list --json", device))[0].State == schema.CommandSucceeded {
				done++
			}
		}
		if done == len(devices) {
			break
		}
		if deadline, ok := t.Deadline(); ok && time.Until(deadline) < 10*time.Second {
			t.Fatalf("%d of %q have acknowledged", done, devices)
		}
		time.Sleep(time.Second) // the settle time
	}
}
