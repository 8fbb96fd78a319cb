package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"furrow/sas"
	"furrow/tables"
)

const observedConfig = `
pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rules]}]
rules: {hot: {when: {threshold: {sensor: oil, above: 1}}, notify: ops}}
notify: {ops: {webhook: {url: "URL/hook", private: true, secretFile: "FILE"}}}
`

// TestRunsAreTracedAndNoSecretIsTold has processes log everything as JSON, export traces, and meet wrong tokens and a
// webhook that refuses them. Then it looks for every secret of the fleet in what they said.
func TestRunsAreTracedAndNoSecretIsTold(t *testing.T) {
	t.Parallel()
	outside := &outsideWorld{}
	s := httptest.NewServer(outside)
	defer s.Close()
	dir, at := t.TempDir(), t.TempDir()
	secret, file := "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32))), filepath.Join(at, "hook")
	writeFile(t, file, secret)
	writeFile(t, filepath.Join(at, "furrow.yaml"), strings.NewReplacer("URL", s.URL, "FILE", file).Replace(observedConfig))
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.URL, "OTEL_BSP_SCHEDULE_DELAY=200", "FURROW_LOG_FORMAT=json"}
	metrics := regexp.MustCompile(`"msg":"metrics served","url":"([^"]+)"`)
	said := map[string]*lockedBuffer{}
	out := &lockedBuffer{}
	serve := func(role string, args ...string) string {
		said[role] = &lockedBuffer{}
		args = append([]string{role, "--storage", dir, "--verbose", "--metrics", "127.0.0.1:0"}, args...)
		startProcess(t, out, said[role], env, args...)
		await(t, said[role], func() bool { return metrics.MatchString(said[role].String()) })
		return metrics.FindStringSubmatch(said[role].String())[1]
	}
	master := filepath.Join(at, "master.key")
	pages := []string{serve("up", "--no-worker", "--no-dashboard", "--listen", "127.0.0.1:0", "--storage-port", "0",
		"--config", filepath.Join(at, "furrow.yaml"), "--master-key-file", master, "--json")}
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant acme", "--master-key-file", master)
	f.must("device add pump-7 --enrollment plant1", "--master-key-file", master)
	pages = append(pages, serve("worker"), serve("dashboard", "--listen", "127.0.0.1:0", "--json"))
	token := jsonOf[sas.Answer](t, f.must("token pump-7 --json"))[0]
	query, err := url.ParseQuery(token.SAS)
	must(t, err)
	login := jsonOf[accessLine](t, f.must("access add alice --role admin --json"))[0].Token
	key := jsonOf[keyLine](t, f.must("device key pump-7 --json", "--master-key-file", master))[0].Key
	screen := func(pattern string) string { // of a screen
		m := regexp.MustCompile(`"` + pattern + `":\s*"([^"]+)"`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("no %s on the screens: %s", pattern, out)
		}
		return strings.TrimSuffix(m[1], "/")
	}
	for path, headers := range map[string]http.Header{
		screen("dashboard") + "/v1/devices":                        {"Authorization": {"Bearer " + login}},
		screen("dashboard") + "/v1/devices?token=" + login:         {"Authorization": {"Bearer x" + login}},
		screen("endpoint") + "/v1/devices/pump-7/token?sig=" + key: {"Authorization": {"Bearer " + key}},
		token.URL + "?" + token.SAS:                                {},
		token.URL + "(PartitionKey='x',RowKey='y')?" + token.SAS:   {},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("{}"))
		must(t, err)
		r.Header = headers
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		must(t, answer.Body.Close())
	}
	_, err = f.client.Table("readings").Do(t.Context(), tables.Insert(oil("pump-7", time.Now().Add(-10*time.Second), 9)))
	must(t, err)
	await(t, outside, func() bool { return outside.wholeRun() && outside.hooked() > 0 })

	account := regexp.MustCompile(`AccountKey=([^;\s]+)`).FindStringSubmatch(text(t, filepath.Join(dir, "connection")))[1]
	secrets := map[string]string{"the account's key": account, "the key of a device": key, "an access token": login,
		"a signature": query.Get("sig"), "the secret of a webhook": secret,
		"the master key": text(t, master)}
	for _, page := range pages {
		_, body := fetched(t, page)
		said[page] = &lockedBuffer{}
		_, _ = said[page].Write(body)
	}
	said["traces"] = &lockedBuffer{}
	_, _ = io.WriteString(said["traces"], outside.String())
	for where, is := range said {
		for what, secret := range secrets {
			for _, form := range []string{strings.TrimSpace(secret), url.QueryEscape(strings.TrimSpace(secret))} {
				if len(form) < 16 || strings.Contains(is.String(), form) {
					t.Errorf("%s tells %s, %q", where, what, form)
				}
			}
		}
	}
	for _, role := range []string{"up", "worker", "dashboard"} {
		for line := range strings.Lines(said[role].String()) {
			var l struct{ Time, Level, Msg string }
			if !strings.HasSuffix(line, "\n") {
				continue // it is being written
			}
			if json.Unmarshal([]byte(line), &l) != nil || l.Time == "" || l.Level == "" || l.Msg == "" {
				t.Errorf("%s logs %q", role, line)
			}
		}
	}
}

func TestCertificatesComeOnlyForPublicHosts(t *testing.T) {
	dir := t.TempDir()
	refused(t, exitUsage, `"localhost" is not a public host name`, "sas --tls acme:localhost --storage "+dir)
	refused(t, exitUsage, "acme:HOST, or CERT,KEY", "storage --tls acme: --data "+dir)
}

func TestLogFormatIsTextOrJSON(t *testing.T) {
	refused(t, exitUsage, "it takes text or json", "worker --log-format xml --storage "+t.TempDir())
}

// An outsideWorld receives traces, and is a webhook that answers that it is out of order.
type outsideWorld struct {
	mu    sync.Mutex
	spans []*otlp.Span
	hooks int
}

func (o *outsideWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.URL.Path == "/hook" {
		o.hooks++
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			o.spans = append(o.spans, scope.Spans...)
		}
	}
}

func (o *outsideWorld) hooked() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hooks
}

// wholeRun reports whether there is a trace with a run, as its scheduler knows it, and its jobs in another process.
func (o *outsideWorld) wholeRun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := map[string][]string{}
	for _, s := range o.spans {
		of[string(s.TraceId)] = append(of[string(s.TraceId)], s.Name)
	}
	for _, names := range of {
		whole := true
		for _, name := range []string{"run live", "master", "month", "device"} {
			whole = whole && slices.Contains(names, name)
		}
		if whole {
			return true
		}
	}
	return false
}

func (o *outsideWorld) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, s := range o.spans {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// TestEveryLineOfALogInJSONIsJSON: also warnings, and the error that ends a process. Durations say their unit.
func TestEveryLineOfALogInJSONIsJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, format string }{
		{"up --storage " + t.TempDir() + " --listen 0.0.0.0:0 --storage-port 0 --no-dashboard --metrics nonsense", "json"},
		{"worker --storage AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a --log-format=json", ""},
		{"sas --storage nowhere --log-format json", "text"},
		{"schedule --nothing", "json"},
	} {
		said := &lockedBuffer{}
		cmd := startProcess(t, io.Discard, said, []string{logFormatVariable + "=" + c.format}, strings.Fields(c.line)...)
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s ends well", c.line)
		}
		lines := 0
		for line := range strings.Lines(said.String()) {
			var l struct{ Time, Level, Msg string }
			lines++
			if json.Unmarshal([]byte(line), &l) != nil || l.Time == "" || l.Level == "" || l.Msg == "" {
				t.Errorf("%s logs %q", c.line, line)
			}
		}
		if lines == 0 {
			t.Errorf("%s says nothing", c.line)
		}
	}
	var log strings.Builder
	newLog(&log, "json", slog.LevelInfo).Info("x", "took", 1500*time.Millisecond)
	if !strings.Contains(log.String(), `"took":"1.5s"`) {
		t.Errorf("a duration is %s", &log)
	}
}
