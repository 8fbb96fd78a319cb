package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

const watchedConfig = `
pipelines: [{name: live, processors: [latest, rollup, rules]}]
rules:
  hot: {when: {threshold: {sensor: oil, above: 190}}, severity: critical, text: "oil of {device} is {value}"}
  silent: {when: {silence: {after: 1h}}}
`

// oil returns a reading of a temperature.
func oil(device string, at time.Time, value float64) tables.Entity {
	e := reading(schema.DeviceID(device), at, 0)
	e.Properties = nil
	e.Set("oil", tables.Double(value))
	return e
}

// TestMuteOfADeviceOfAnotherTenantIsRefused: it would match nothing, and somebody would be notified.
func TestMuteOfADeviceOfAnotherTenantIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	f.must("enrollment add plant2 --tenant fabrikam")
	f.must("device add pump-7 --enrollment plant1")
	f.must("device add pump-8 --enrollment plant2")
	f.refused(exitFailed, "pump-7 belongs to tenant acme", "mute add --tenant fabrikam --device pump-7 --until 1h")
	f.must("mute add --tenant acme --device pump-7 --until 1h")
	f.must("mute add --device pump-8 --until 1h")
}

// TestIncidentsAreShownAcknowledgedAndMuted goes the whole way: from a rule in a file to what people see and write.
func TestIncidentsAreShownAcknowledgedAndMuted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	must(t, os.WriteFile(file, []byte(watchedConfig), 0o600))
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	f.must("config apply " + file)
	now := time.Now().UTC().Truncate(time.Second)
	first := now.Add(-10 * time.Minute)
	if _, err := f.client.Table("readings").Submit(t.Context(), []tables.Op{
		tables.Insert(oil("pump-7", first, 195)), tables.Insert(oil("pump-7", now.Add(-9*time.Minute), 150)),
		tables.Insert(oil("pump-7", now.Add(-5*time.Minute), 210))}); err != nil {
		t.Fatal(err)
	}
	f.must("schedule --once")
	f.work()

	open := jsonOf[answers.Incident](t, f.must("incident list --json"))
	if len(open) != 1 || open[0].Text != "oil of pump-7 is 210" || open[0].State != "open" ||
		open[0].Severity != "critical" || open[0].Tenant != "acme" {
		t.Fatalf("open: %+v", open)
	}
	all := jsonOf[answers.Incident](t, f.must("incident list --all --device pump-7 --json"))
	if len(all) != 2 || all[0].ID != open[0].ID || all[1].State != "closed" ||
		all[1].ID != "hot~pump-7~"+first.Format("20060102T150405Z") {
		t.Fatalf("all: %+v", all)
	}
	if code, out, errs := f.run("incident list --all --tenant other"); code != exitFailed ||
		strings.Contains(out, "pump") || !strings.Contains(errs, `no device belongs to tenant "other"`) {
		t.Errorf("another tenant: exit %d, %s%s", code, out, errs)
	}
	id := open[0].ID
	f.must("incident ack", id, "on", "my", "way")
	f.must("incident note", id, "the fan was off")
	h := jsonOf[answers.IncidentHistory](t, f.must("incident show --json", id))[0]
	if h.ID != id || len(h.Transitions) != 1 || h.Transitions[0].What != "opened" || !h.Transitions[0].Notify ||
		len(h.Notes) != 2 || h.Notes[0].Text != "on my way" || h.Notes[1].What != "note" {
		t.Errorf("its history: %+v", h)
	}
	f.says("the fan was off", "incident show", id)
	mute := jsonOf[muteLine](t, f.must("mute add --rule hot --device pump-* --until 1h --json"))[0]
	open = jsonOf[answers.Incident](t, f.must("incident list --json"))
	if len(open) != 1 || open[0].State != "acknowledged" || !open[0].Muted {
		t.Errorf("acknowledged: %+v", open)
	}
	if out := f.must("mute list --format csv"); !strings.Contains(out, mute.ID) {
		t.Errorf("mutes: %s", out)
	}
	f.must("mute remove", mute.ID)
	if open = jsonOf[answers.Incident](t, f.must("incident list --json")); open[0].Muted {
		t.Errorf("without the mute: %+v", open)
	}
	f.refused(exitFailed, "there is no mute", "mute remove", mute.ID)
	f.refused(exitFailed, "pump-7", "mute add --device pump-77 --until 1h")
	f.refused(exitFailed, "is closed since", "incident ack", all[1].ID)
	f.refused(exitFailed, "there is no incident hot~pump-7~20200101T000000Z", "incident show hot~pump-7~20200101T000000Z")
	f.refused(exitUsage, "want rule~device~time", "incident show 7")
	out := f.must("activity --format csv")
	if !strings.Contains(out, "incident ack") || !strings.Contains(out, "mute add") {
		t.Errorf("activity: %s", out)
	}
	tried := jsonOf[trialLine](t, f.must("rule try hot --json"))
	if len(tried) != 2 || tried[0].ID != all[1].ID || tried[1].ID != all[0].ID || tried[1].Closed != nil {
		t.Errorf("tried: %+v", tried)
	}
	f.says(`hot,threshold,oil above 190,,critical`, "rule list --format csv")
	f.says("    severity: critical", "rule show hot")
	f.refused(exitFailed, `there is no rule "cold"; there are hot, silent`, "rule show cold")
}

// TestRuleIsTestedOnAFile needs no storage.
func TestRuleIsTestedOnAFile(t *testing.T) {
	inEmptyDirectory(t)
	writeFile(t, "site.yaml", watchedConfig)
	writeFile(t, "readings.csv", `device,time,oil
rig-1,2026-11-20T08:00:00Z,120
rig-1,2026-11-20T08:02:00Z,195
rig-1,2026-11-20T08:01:00Z,191
rig-2,2026-11-20T08:01:00Z,150
rig-1,2026-11-20T08:03:00Z,150
rig-2,2026-11-20T10:01:00Z,150
`)
	_, out, errs := furrow(t.Context(), "rule", "test", "hot", "readings.csv", "--config", "site.yaml", "--format", "csv")
	if !strings.Contains(out, "2026-11-20T08:01:00Z,2026-11-20T08:03:00Z,replay:rig-1,oil of replay:rig-1 is 191,") ||
		!strings.Contains(errs, "rule hot: 1 incident of 2 devices") {
		t.Errorf("%s%s", out, errs)
	}
	_, out, errs = furrow(t.Context(), "rule", "test", "silent", "readings.csv", "--config", "site.yaml", "--format",
		"csv")
	if strings.Count(out, "no reading for 1h") != 2 || !strings.Contains(errs, "2 incidents of 2 devices") {
		t.Errorf("%s%s", out, errs)
	}
}

// TestNothingIsMissedBeforeADeviceBegins tries rules on a device whose first reading is in the middle of the span, and
// on one that has registered just now and sent nothing. A run finds the same doses on the same rows, and no dose ends
// while the test runs. A run counts silence from when it finds a reading, so that is not compared.
func TestNothingIsMissedBeforeADeviceBegins(t *testing.T) {
	f := newFixture(t)
	now, times := time.Now().UTC(), []string(nil)
	for _, hours := range []int{3, 9, 15, 21} {
		times = append(times, now.Add(time.Duration(hours)*time.Hour).Format("15:00"))
	}
	config := `
pipelines: [{name: live, processors: [latest, rollup, rules]}]
rules:
  dose:
    when: {schedule: {times: "` + strings.Join(times, ", ") + `", zone: Etc/UTC, before: 1h, after: 1h, expect: taken > 0}}
  silent: {when: {silence: {after: 1h}}}
`
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, config)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	f.must("device add pump-8 --enrollment plant1")
	first := now.Add(-30 * time.Hour)
	_, err := f.client.Table("readings").Submit(t.Context(), []tables.Op{tables.Insert(oil("pump-7", first, 195))})
	must(t, err)
	var trials, runs []string
	for _, rule := range []string{"dose", "silent"} {
		tried := jsonOf[trialLine](t, f.must("rule try --json --last 7d --config", file, rule))
		for _, one := range tried {
			if rule == "dose" {
				trials = append(trials, fmt.Sprintln(one.ID, one.Since, one.Closed == nil, one.Text, one.Value))
			}
			if one.Device != "pump-7" || one.Since.Before(first.Add(-time.Second)) {
				t.Errorf("%s: an incident of %s since %v; its first reading is of %v", rule, one.Device, one.Since, first)
			}
		}
		if n := len(tried); n == 0 || n > 5 {
			t.Errorf("%s: %d incidents of a device that has sent one reading 30 hours ago", rule, n)
		}
	}
	f.must("config apply " + file)
	f.must("schedule --once")
	f.work()
	for _, one := range jsonOf[answers.Incident](t, f.must("incident list --all --json")) {
		runs = append(runs, fmt.Sprintln(one.ID, one.Since, one.Closed == nil, one.Text, one.Value))
	}
	slices.Sort(trials)
	if slices.Sort(runs); !slices.Equal(trials, runs) {
		t.Errorf("trials find\n%s\nand a run\n%s", strings.Join(trials, ""), strings.Join(runs, ""))
	}
}

// TestRulesWatchFurrowItself has a message and notifications given up, and incidents of the pipeline's own figures.
func TestRulesWatchFurrowItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, `
pipelines:
  - {name: live, cadence: 1s, settle: 1s, processors: [latest, rollup, rules]}
  - {name: keep, cadence: 1h, processors: [archive]}
rules:
  given-up: {match: {tenant: furrow}, when: {threshold: {sensor: poison_messages, above: 0}}}
  untold: {match: {tenant: furrow}, when: {threshold: {sensor: notifications_given_up, above: 2}}}
  lag: {match: {tenant: furrow}, when: {threshold: {sensor: lag_seconds, above: 300}}}
`)
	f.must("config apply " + file)
	f.createTables()
	s, err := opened(t, nil, "--storage", f.storage)
	must(t, err)
	q := s.Queues.Queue(f.names, "live")
	must(t, q.Create(t.Context()))
	m := jobs.Message{Kind: jobs.Month, Pipeline: "other", Run: tables.TicksOf(time.Now()),
		Month: schema.Month{Year: 2026, Month: 9}}
	must(t, q.Put(t.Context(), m, 0))
	target := schema.TargetState{Pipeline: "live", Target: "ops", GivenUp: 3, Due: tables.MaxTicks}
	_, err = f.client.Table(f.names.Runs()).Do(t.Context(), tables.Insert(target.Entity()))
	must(t, err)
	var open []answers.Incident
	for n := 0; len(open) < 2 && n < 20; n++ { // it is given up, the next slot counts it, and a later run finds that
		f.must("schedule --once --pipeline live")
		f.work()
		open = jsonOf[answers.Incident](t, f.must("incident list --json"))
	}
	slices.SortFunc(open, func(a, b answers.Incident) int { return strings.Compare(string(a.Rule), string(b.Rule)) })
	if len(open) != 2 || open[0].Rule != "given-up" || open[0].Device != "furrow:live" || open[0].Value != "1" ||
		open[1].Rule != "untold" || open[1].Device != "furrow:live" || open[1].Value != "3" {
		t.Errorf("open: %+v", open)
	}
	f.says("furrow:live,", "query furrow:live --latest --format csv")
	if tenants := f.must("device list --tenant furrow --format csv"); strings.Count(tenants, "furrow:live") != 1 ||
		!strings.Contains(tenants, "furrow:keep") {
		t.Errorf("devices: %s", tenants)
	}
}

// TestRemovedDeviceHasNoOpenIncident removes one of two devices with an open incident, and then its data.
func TestRemovedDeviceHasNoOpenIncident(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	notified := strings.Replace(watchedConfig, "severity: critical", "severity: critical, notify: [ops]", 1) +
		"notify: {ops: {queue: {name: alerts}}}\n"
	must(t, os.WriteFile(file, []byte(notified), 0o600))
	f.must("enrollment add plant1 --tenant acme")
	f.must("config apply " + file)
	at := time.Now().Add(-5 * time.Minute).Truncate(time.Second)
	for _, device := range []string{"pump-7", "pump-8"} {
		f.must("device add " + device + " --enrollment plant1")
		if _, err := f.client.Table("readings").Do(t.Context(), tables.Insert(oil(device, at, 195))); err != nil {
			t.Fatal(err)
		}
	}
	f.must("schedule --once")
	f.work()
	open := jsonOf[answers.Incident](t, f.must("incident list --device pump-7 --json"))
	if len(open) != 1 {
		t.Fatalf("open: %+v", open)
	}
	f.must("incident note", open[0].ID, "the fan was off")
	if line := jsonOf[removedLine](t, f.must("device remove pump-7 --yes --json"))[0]; line.Incidents != 1 {
		t.Errorf("%+v", line)
	}
	var told []string
	for e, err := range f.client.Table(f.names.Deliveries()).Entities(t.Context(), tables.Query{}) {
		must(t, err)
		if e.Get("Device").Text() == "pump-7" {
			told = append(told, e.Get("What").Text())
		}
	}
	if !slices.Contains(told, "closed") {
		t.Errorf("nobody will be told that its incident has closed: %q", told)
	}
	f.must("device remove pump-7 --yes") // again
	left := jsonOf[answers.Incident](t, f.must("incident list --json"))
	if len(left) != 1 || left[0].Device != "pump-8" {
		t.Errorf("open: %+v", left)
	}
	h := jsonOf[answers.IncidentHistory](t, f.must("incident show --json", open[0].ID))[0]
	if !slices.ContainsFunc(h.Transitions, func(t answers.Transition) bool {
		return t.What == "closed" && t.Notify && strings.Contains(t.Text, "the device was removed")
	}) {
		t.Errorf("its incident: %+v", h)
	}
	f.must("device remove pump-7 --data --yes")
	f.must("audit run") // a second run of the same minute
	f.work()
	queues, err := azqueue.NewServiceClientFromConnectionString(strings.TrimSpace(text(t, f.storage+"/connection")), nil)
	must(t, err)
	waiting, err := queues.NewQueueClient("alerts").PeekMessages(t.Context(), &azqueue.PeekMessagesOptions{
		NumberOfMessages: new(int32(32))})
	must(t, err)
	if !slices.ContainsFunc(waiting.Messages, func(m *azqueue.PeekedMessage) bool {
		text, err := base64.StdEncoding.DecodeString(*m.MessageText)
		if err != nil {
			text = []byte(*m.MessageText)
		}
		return bytes.Contains(text, []byte("pump-7")) && bytes.Contains(text, []byte("the device was removed"))
	}) {
		t.Errorf("of %d messages, none tells that its incident has closed", len(waiting.Messages))
	}
	for _, name := range []string{f.names.Output("incidents"), f.names.Deliveries()} {
		for e, err := range f.client.Table(name).Entities(t.Context(), tables.Query{}) {
			must(t, err)
			if strings.Contains(e.RowKey, "pump-7") {
				t.Errorf("left is %s %s %s", name, e.PartitionKey, e.RowKey)
			}
		}
	}
	if left = jsonOf[answers.Incident](t, f.must("incident list --all --json")); len(left) != 1 {
		t.Errorf("of the other device: %+v", left)
	}
}

// TestKilledClosingIsCompletedByARepeat kills the process at each of its requests in turn.
func TestKilledClosingIsCompletedByARepeat(t *testing.T) {
	f := newFixture(t)
	d := schema.Device{ID: "pump-7", Tenant: "acme", Month: schema.Month{Year: 2026, Month: 11}}
	account, err := tables.ParseAccount(text(t, f.storage+"/connection"))
	must(t, err)
	table := f.client.Table(f.names.Output("incidents"))
	must(t, table.Create(t.Context()))
	for _, rule := range []schema.Rule{"hot", "silent"} {
		one := schema.Transition{Home: schema.LatestPartition{Tenant: d.Tenant, Month: d.Month}, Number: 1,
			ID: schema.IncidentID{Rule: rule, Device: d.ID, First: tables.TicksOf(time.Now())}, What: schema.Opened}
		for _, e := range []tables.Entity{one.Entity(), one.IndexEntity()} {
			_, err := table.Do(t.Context(), tables.Insert(e))
			must(t, err)
		}
	}
	for n := 0; ; n++ {
		ctx, kill := context.WithCancel(t.Context())
		client, err := tables.Connect(tables.Config{Account: account, Transport: &stepper{n, kill}})
		must(t, err)
		_, err = query.Incidents{Tables: client, Names: f.names}.Close(ctx, d)
		kill()
		if err == nil {
			t.Logf("killed at %d requests", n)
			break
		}
		if n > 50 {
			t.Fatal(err)
		}
	}
	closings, index := 0, 0
	for page, err := range table.Rows(t.Context(), tables.Query{}) {
		must(t, err)
		for _, e := range page.Rows {
			one, err := schema.TransitionOf(e)
			if must(t, err); strings.HasSuffix(e.PartitionKey, "!open") {
				index++
			} else if one.What == schema.Closed {
				closings++
			}
		}
	}
	if closings != 2 || index != 0 {
		t.Errorf("%d closings, and %d are still in the index", closings, index)
	}
}

// TestNewDevicesAndImportsOpenNothing: a device that was never heard of is new, and imported history is not heard. A
// device that was heard is silent since its last reading, although the rule is younger, and an import closes nothing.
func TestNewDevicesAndImportsOpenNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "site.yaml")
	writeFile(t, file, "pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup, rules]}]\n"+
		"models: {probe: {match: {device: 'pump-*'}, every: 1h}}\n")
	f.must("enrollment add plant1 --tenant acme")
	for _, id := range []string{"pump-1", "pump-2", "pump-3"} {
		f.must("device add " + id + " --enrollment plant1")
	}
	f.must("config apply " + file)
	heard := time.Now().Add(-12 * time.Hour).UTC().Truncate(time.Second)
	_, err := f.client.Table("readings").Do(t.Context(), tables.Insert(oil("pump-2", heard, 20)))
	must(t, err)
	run := func() []answers.Incident {
		f.must("schedule --once --pipeline live")
		f.work()
		return jsonOf[answers.Incident](t, f.must("incident list --all --json"))
	}
	all := run()
	writeFile(t, file, text(t, file)+"rules: {silent: {when: {silence: {}}}, unmounted: {when: {never: {after: 30d}}}}\n")
	f.must("config apply " + file)
	writeFile(t, dir+"/2026.csv", "device,time,oil\npump-1,2026-10-01T08:00:00Z,20\npump-2,2026-10-01T08:00:00Z,20\n")
	f.must("import " + dir + "/2026.csv --enrollment plant1")
	for n := 0; n < 3 || len(all) == 0 && n < 20; n++ { // two of them may be in one slot
		all = run()
	}
	if len(all) != 1 || all[0].Device != "pump-2" || all[0].State != "open" || !all[0].Since.Equal(heard) ||
		all[0].Text != "no reading for 3h, since "+heard.Format(time.RFC3339) {
		t.Fatalf("incidents: %+v", all)
	}
	f.must("device revoke pump-2 --yes")
	for n := 0; all[0].State == "open" && n < 20; n++ {
		all = run()
	}
	if len(all) != 1 || all[0].State != "closed" || all[0].Reason != "the device was revoked" {
		t.Errorf("incidents of a revoked device: %+v", all)
	}
}
