package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const notifyConfig = `
pipelines: [{name: live, processors: [latest, rollup, rules]}]
rules:
  hot: {when: {threshold: {sensor: oil, above: 190}}, severity: critical, notify: [ops, tickets]}
notify:
  ops: {webhook: {url: %q, secretFile: %q, private: true}, repeat: 24h}
  tickets: {queue: {name: tickets}}
`

// TestNotificationsAreSentShownAndRetried goes the whole way: from a rule in a file to a webhook and a queue.
func TestNotificationsAreSentShownAndRetried(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	var gone atomic.Bool
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusGone)
			return
		}
		body, err := io.ReadAll(r.Body)
		verifier, wrong := standardwebhooks.NewWebhook(webhookSecret)
		if err != nil || wrong != nil || verifier.Verify(body, r.Header) != nil {
			t.Errorf("not signed: %v, %v, %s", err, wrong, body)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
	}))
	defer receiver.Close()
	got := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(bodies, "\n") }

	f, dir := newFixture(t), t.TempDir()
	secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, "site.yaml")
	must(t, os.WriteFile(secret, []byte(webhookSecret+"\n"), 0o600))
	text := fmt.Sprintf(notifyConfig, receiver.URL, secret)
	must(t, os.WriteFile(file, []byte(text), 0o600))
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-7 --enrollment plant1")
	f.must("config apply " + file)
	f.says("ops,webhook,"+receiver.URL+",0,0,0,0,,,", "notify list --format csv")
	f.says("answered 200 OK\nops: the test message was accepted", "notify test ops")
	if !strings.Contains(got(), `"type":"furrow.test"`) {
		t.Errorf("the test was %s", got())
	}
	f.refused(exitFailed, "the configuration has no target nobody", "notify test nobody")

	now := time.Now().UTC().Truncate(time.Second)
	table := f.client.Table("readings")
	if _, err := table.Do(t.Context(), tables.Insert(oil("pump-7", now.Add(-5*time.Minute), 210))); err != nil {
		t.Fatal(err)
	}
	f.must("schedule --once")
	gone.Store(true)
	f.work()
	off := jsonOf[targetLine](t, f.must("notify list --json"))[0]
	if off.Off == nil || off.Waiting != 1 || off.Next != nil || !strings.Contains(off.Error, "410") {
		t.Errorf("it is gone: %+v", off)
	}
	f.says("turned off, last failure: it answered 410", "status")
	about := jsonOf[answers.Incident](t, f.must("incident list --tenant furrow --json"))
	if len(about) != 1 || about[0].Rule != "target-off" || about[0].Device != "furrow:live" {
		t.Fatalf("incidents of furrow: %+v", about)
	}
	f.says("target ops is turned off", "incident list")
	f.says("tickets", "incident show", about[0].ID)
	f.must("incident ack", about[0].ID)
	gone.Store(false)
	f.says("ops: put back 0 notifications; what waits is tried now", "notify redrive ops")
	f.work() // no run is needed
	if open := jsonOf[answers.Incident](t, f.must("incident list --tenant furrow --json")); len(open) > 0 {
		t.Errorf("when it is on again: %+v", open)
	}
	id := jsonOf[answers.Incident](t, f.must("incident list --tenant acme --json"))[0].ID
	if !strings.Contains(got(), `"delivery":"`+id+`~1~ops","id":"`+id+`","what":"opened"`) {
		t.Errorf("the webhook has got %s", got())
	}
	sent := map[string]string{}
	for _, told := range jsonOf[answers.IncidentHistory](t, f.must("incident show --json", id))[0].Told {
		sent[told.Target] = told.Outcome
	}
	if len(sent) != 2 || sent["ops"] != "sent" || sent["tickets"] != "sent" {
		t.Errorf("the incident says %v", sent)
	}
	for _, line := range jsonOf[targetLine](t, f.must("notify list --json")) {
		want := map[schema.Target][2]int64{"ops": {1, 1}, "tickets": {3, 0}}[line.Target] // two of them about ops
		if [2]int64{line.Sent, line.Failed} != want || line.Waiting != 0 || line.Last == nil {
			t.Errorf("target %+v", line)
		}
	}
	if status := jsonOf[pipelineStatus](t, f.must("status --json"))[0]; len(status.Targets) != 2 {
		t.Errorf("status says %+v", status.Targets)
	}
	f.says("ops: 1 sent, 0 waiting; tickets: 3 sent", "status")
	if out := f.must("config show"); strings.Contains(out, webhookSecret[6:]) || !strings.Contains(out, "secretFile") {
		t.Errorf("the configuration is shown as\n%s", out)
	}
	f.refused(exitFailed, `no target "nobody"`, "notify redrive nobody")
}
