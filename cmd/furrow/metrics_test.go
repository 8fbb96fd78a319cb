package main

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// documentedMetrics are the rows of the page's table, without the meaning, by who serves them.
func documentedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	byRole := map[string][]string{}
	for _, cells := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| (.*?) \\| (.*?) \\| (.*?) \\| (.*?) \\|$").
		FindAllStringSubmatch(text(t, "reference/metrics.md"), -1) {
		metric := strings.Join(append(cells[1:4:4], cells[5]), "|")
		byRole["up"] = append(byRole["up"], metric)
		for _, role := range []string{"sas", "worker", "schedule", "dashboard", "storage"} {
			if cells[4] == "all" || slices.Contains(words(cells[4]), role) {
				byRole[role] = append(byRole[role], metric)
			}
		}
	}
	for _, metrics := range byRole {
		slices.Sort(metrics)
	}
	if len(byRole["up"]) < 30 {
		t.Fatalf("the page's table has %d rows", len(byRole["up"]))
	}
	return byRole
}

// servedMetrics scrapes a process whose log says where it serves metrics.
func servedMetrics(t *testing.T, log string) (metrics []string) {
	t.Helper()
	at := regexp.MustCompile(`msg="metrics served" url=(\S+)`).FindStringSubmatch(log)
	if at == nil {
		return nil
	}
	status, body := fetched(t, at[1])
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", at[1], status, body)
	}
	problems, err := promlint.New(bytes.NewReader(body)).Lint()
	must(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "furrow_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	must(t, err)
	for name, family := range families {
		if strings.HasPrefix(name, "furrow_") {
			metrics = append(metrics, described(family))
		}
	}
	slices.Sort(metrics)
	return metrics
}

func described(f *dto.MetricFamily) string {
	labels := []string{}
	for _, l := range f.Metric[0].Label {
		labels = append(labels, l.GetName())
	}
	slices.Sort(labels)
	kind := strings.ToLower(f.GetType().String())
	return strings.Join([]string{f.GetName(), kind, strings.Join(labels, ", "), f.GetHelp()}, "|")
}

func fetched(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	answer, err := http.Get(url)
	must(t, err)
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, body
}

// TestMetricsAreThoseOfTheReference has every role serve them on a listener of its own.
func TestMetricsAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, strings.Replace(everySecond, "rollup]", "rollup, rules]", 1)+
		"notify: {ops: {queue: {name: alerts}}}\nreports: {windows: [1h]}\nbudget: {usdPerMonth: 50}\n"+
		"verify: {sample: 100%}\n")
	up := startUp(t, "--storage", dir, "--config", config, "--metrics", "127.0.0.1:0")
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant contoso")
	want := documentedMetrics(t)
	data := t.TempDir()
	storage := startStorage(t, "--data", data, "--metrics", "127.0.0.1:0")
	fixtureIn(t, data).must("config apply", config)
	of := map[string]string{"schedule": data, "worker": data} // beside those of up, a worker may never get a job
	logs := map[string]func() string{"up": up.stderr.String, "storage": storage.stderr.String}
	for role, args := range map[string][]string{
		"sas": {"--listen", "127.0.0.1:0"}, "dashboard": {"--listen", "127.0.0.1:0"}, "schedule": nil, "worker": nil,
	} {
		errs := &lockedBuffer{}
		startProcess(t, io.Discard, errs, nil,
			append([]string{role, "--storage", cmp.Or(of[role], dir), "--metrics", "127.0.0.1:0"}, args...)...)
		logs[role] = errs.String
	}
	for role, log := range logs {
		var got []string
		await(t, "the metrics of "+role, func() bool {
			got = servedMetrics(t, log())
			return len(got) >= len(want[role])
		})
		if !slices.Equal(got, want[role]) {
			t.Errorf("%s serves\n%s\nand the reference has\n%s", role, strings.Join(got, "\n"), strings.Join(want[role], "\n"))
		}
		at := regexp.MustCompile(`msg="metrics served" url=(\S+)/metrics`).FindStringSubmatch(log())[1]
		for _, path := range []string{"/healthz", "/readyz"} {
			if status, body := fetched(t, at+path); status != http.StatusOK {
				t.Errorf("%s %s: %d %s", role, path, status, body)
			}
		}
		if status, _ := fetched(t, at+"/v1/devices"); status != http.StatusNotFound {
			t.Errorf("%s: another path: %d", role, status)
		}
	}
	up.mustEnd(t)
	storage.mustEnd(t)
	for role, log := range logs { // storage has stopped
		if role == "up" || role == "storage" {
			continue
		}
		at := regexp.MustCompile(`msg="metrics served" url=(\S+)/metrics`).FindStringSubmatch(log())[1]
		t.Run(role, func(t *testing.T) {
			t.Parallel() // each waits for 5 s
			if status, body := fetched(t, at+"/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("/readyz without storage: %d %s", status, body)
			}
			if status, _ := fetched(t, at+"/metrics"); status != http.StatusOK {
				t.Errorf("/metrics without storage: %d", status)
			}
		})
	}
}

func TestMetricsAddressErrorsSayWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	refused(t, exitUsage, "--metrics: address nowhere", "storage --data "+t.TempDir()+" --metrics nowhere")
	for _, role := range []string{"up --listen 127.0.0.1:0", "worker", "schedule", "sas --listen 127.0.0.1:0",
		"dashboard"} {
		refused(t, exitFailed, "choose another port with --metrics", role+" --storage "+t.TempDir()+" --metrics "+
			l.Addr().String())
		refused(t, exitUsage, "--metrics: address nowhere", role+" --storage "+t.TempDir()+" --metrics nowhere")
	}
}
