package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"furrow/tables/azuretest/effort"
)

// needMonitoring skips a test on a machine without Prometheus and Alertmanager.
func needMonitoring(t *testing.T) {
	t.Helper()
	for _, name := range []string{"prometheus", "promtool", "prometheus-alertmanager"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not on this machine")
		}
	}
}

// An alert is a rule of rules.yaml, or what Alertmanager says of it.
type alert struct {
	Alert       string
	Expr        string
	Status      string // firing or resolved
	Labels      map[string]string
	Annotations map[string]string
}

func alertsOf(t *testing.T, rules string) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	must(t, yaml.Unmarshal([]byte(rules), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) < 20 {
		t.Fatalf("there are %d alerts", len(all))
	}
	return all
}

// panelQueries returns the queries of the dashboard, as Grafana sends them.
func panelQueries(t *testing.T, dashboard string) (all []string) {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	must(t, json.Unmarshal([]byte(dashboard), &d))
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			all = append(all, strings.NewReplacer("$__rate_interval", "30s", "$pipeline", ".*").Replace(q.Expr))
		}
	}
	if len(all) < 50 {
		t.Fatalf("the dashboard has %d queries", len(all))
	}
	return all
}

// TestEveryMetricIsOnTheDashboardOrHasAnAlert also refuses metrics that do not exist.
func TestEveryMetricIsOnTheDashboardOrHasAnAlert(t *testing.T) {
	known := map[string]bool{}
	for _, metric := range documentedMetrics(t)["up"] {
		name, rest, _ := strings.Cut(metric, "|")
		known[name] = true
		if strings.HasPrefix(rest, "histogram") {
			known[name+"_bucket"] = true
			delete(known, name)
		}
	}
	texts := text(t, "deploy/monitoring/rules.yaml") + text(t, "deploy/monitoring/dashboard.json")
	used := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bfurrow_\w+`).FindAllString(texts, -1) {
		if used[name] = true; !known[name] {
			t.Errorf("%s is not a metric of the reference", name)
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("%s is in no alert, and on no panel", name)
		}
	}
}

// TestAlertsFireWhenTheyShould runs the tests of the rules, where promtool is on the machine.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not on this machine")
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "rules.yaml"), text(t, "deploy/monitoring/rules.yaml"))
	writeFile(t, filepath.Join(dir, "test.yaml"), text(t, "testdata/rules-test.yaml"))
	out, err := exec.Command("promtool", "test", "rules", filepath.Join(dir, "test.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("promtool: %s", out)
	}
}

// TestAlertsReachAlertmanagerOnce has Prometheus scrape all roles and run every query of the dashboard on them. Then it
// provokes every alert with metrics of a fleet in trouble, in windows of seconds.
func TestAlertsReachAlertmanagerOnce(t *testing.T) {
	effort.OnlyLong(t, "TestRulesWatchFurrowItself reads the rules without Prometheus")
	needMonitoring(t)
	t.Parallel() // it mostly waits
	dir := t.TempDir()
	out, err := exec.Command("promtool", "check", "rules", "deploy/monitoring/rules.yaml").CombinedOutput()
	if err != nil {
		t.Fatalf("promtool: %s", out)
	}
	rules := text(t, "deploy/monitoring/rules.yaml")
	quick := regexp.MustCompile(`for: \w+`).ReplaceAllString(rules, "for: 1s")
	quick = regexp.MustCompile(`\[\d+[mh]\]`).ReplaceAllString(quick, "[10s]")
	// The disk of this machine may be full, and that of the troubled fleet has a gigabyte.
	quick = strings.Replace(quick, "* furrow_embedded_disk_bytes", "* (furrow_embedded_disk_bytes < 2e9)", 1)
	writeFile(t, filepath.Join(dir, "rules.yaml"), quick)

	trouble := &troubledFleet{t: t}
	troubled := httptest.NewServer(trouble)
	defer troubled.Close()
	down, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	downAt := down.Addr().String()
	must(t, down.Close())
	told := &toldAlerts{}
	receiver := httptest.NewServer(told)
	defer receiver.Close()

	healthy := scrapedRoles(t)
	targets := append(slices.Clone(healthy), strings.TrimPrefix(troubled.URL, "http://"))
	manager, _ := startAlertmanager(t, dir, receiver.URL, false)
	prometheus := startPrometheus(t, dir, manager, targets, downAt)
	for _, q := range panelQueries(t, text(t, "deploy/monitoring/dashboard.json")) {
		await(t, q, func() bool { return ran(t, prometheus, q) > 0 || strings.Contains(q, "> 0") })
	}
	for _, a := range alertsOf(t, rules) {
		ran(t, prometheus, a.Expr)
		for _, selector := range selectors(a.Expr) {
			await(t, a.Alert+" selects "+selector, func() bool { return ran(t, prometheus, selector) > 0 })
		}
	}

	trouble.begin()
	want := alertsOf(t, rules)
	await(t, told, func() bool { return len(told.names()) >= len(want) })
	for _, a := range want {
		if n := told.count(a.Alert); n != 1 {
			t.Errorf("%s was told %d times: %v", a.Alert, n, told)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s says %q to nobody", a.Alert, a.Annotations)
		}
	}
	for _, instance := range healthy {
		if is := told.of(instance); len(is) > 0 {
			t.Errorf("%s is healthy, and has alerts %v", instance, is)
		}
	}
}

// scrapedRoles runs every role, and returns where they serve metrics.
func scrapedRoles(t *testing.T) (targets []string) {
	t.Helper()
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, strings.Replace(everySecond, "rollup]", "rollup, rules]", 1)+
		"notify: {ops: {queue: {name: alerts}}}\nreports: {windows: [1h]}\nbudget: {usdPerMonth: 50}\n"+
		"verify: {sample: 100%}\n")
	at := regexp.MustCompile(`msg="metrics served" url=http://(\S+)/metrics`)
	serve := func(line string, args ...string) {
		errs := &lockedBuffer{}
		startProcess(t, io.Discard, errs, nil, append(append(strings.Fields(line), "--metrics", "127.0.0.1:0"), args...)...)
		await(t, line, func() bool { return at.MatchString(errs.String()) })
		targets = append(targets, at.FindStringSubmatch(errs.String())[1])
	}
	serve("up --no-dashboard --no-worker --listen 127.0.0.1:0 --storage-port 0", "--storage", dir, "--config", config,
		"--backup-to", t.TempDir())
	for _, line := range []string{"sas --listen 127.0.0.1:0", "dashboard --listen 127.0.0.1:0", "schedule", "worker"} {
		serve(line, "--storage", dir)
	}
	serve("storage --listen 127.0.0.1:0", "--data", t.TempDir())
	return targets
}

// listening starts a server of the Prometheus project, and returns its URL, and what stops it in good order.
func listening(t *testing.T, name string, args ...string) (server string, stop func()) {
	t.Helper()
	errs := &lockedBuffer{}
	cmd := exec.Command(name, append(args, "--web.listen-address=127.0.0.1:0")...)
	cmd.Stdout, cmd.Stderr = errs, errs
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	at := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
	await(t, errs, func() bool { return at.MatchString(errs.String()) })
	server = "http://" + at.FindStringSubmatch(errs.String())[1]
	await(t, errs, func() bool { status, _ := fetched(t, server+"/-/ready"); return status == http.StatusOK })
	return server, func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
}

// startAlertmanager starts one that tells a receiver of alerts, and if resolved of their end. It keeps what it told.
func startAlertmanager(t *testing.T, dir, receiver string, resolved bool) (server string, stop func()) {
	t.Helper()
	config := filepath.Join(dir, "alertmanager.yaml")
	writeFile(t, config, fmt.Sprintf(`
route: {receiver: test, group_by: ["..."], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}
receivers: [{name: test, webhook_configs: [{url: %q, send_resolved: %v}]}]
`, receiver, resolved))
	return listening(t, "prometheus-alertmanager", "--config.file="+config, "--cluster.listen-address=",
		"--storage.path="+filepath.Join(dir, "alerts"))
}

func startPrometheus(t *testing.T, dir, manager string, targets []string, down string) string {
	t.Helper()
	config := filepath.Join(dir, "prometheus.yaml")
	list, err := json.Marshal(append(slices.Clone(targets), down))
	must(t, err)
	writeFile(t, config, fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: furrow, static_configs: [{targets: %s}]}]
`, strings.TrimPrefix(manager, "http://"), list))
	server, _ := listening(t, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "series"))
	return server
}

// ran runs a query, and returns the number of series in its answer.
func ran(t *testing.T, prometheus, query string) int {
	t.Helper()
	resp, err := http.Get(prometheus + "/api/v1/query?query=" + url.QueryEscape(query))
	must(t, err)
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Warnings      []string
		Data          struct{ Result []json.RawMessage }
	}
	must(t, json.NewDecoder(resp.Body).Decode(&answer))
	if answer.Status != "success" || len(answer.Warnings) > 0 {
		t.Fatalf("%s: %+v", query, answer)
	}
	return len(answer.Data.Result)
}

// selectors returns the selectors of an expression, one for each alternative of a matcher: each has to find a series.
func selectors(expr string) (all []string) {
	alternatives := regexp.MustCompile(`^(.*=~")(.*\|.*)(".*)$`)
	for _, s := range regexp.MustCompile(`\bfurrow_\w+(?:\{[^}]*\})?`).FindAllString(expr, -1) {
		m := alternatives.FindStringSubmatch(s)
		if m == nil {
			all = append(all, s)
			continue
		}
		for one := range strings.SplitSeq(m[2], "|") {
			all = append(all, m[1]+one+m[3])
		}
	}
	return all
}

// A troubledFleet serves the metrics of a fleet in which everything goes wrong, once it has begun. They have the names,
// types and labels of the reference. Counters rise with each scrape.
type troubledFleet struct {
	t       *testing.T
	mu      sync.Mutex
	begun   bool
	scrapes int
}

func (f *troubledFleet) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = true
}

func (f *troubledFleet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	if !f.begun {
		return
	}
	f.scrapes++
	page, err := os.ReadFile("testdata/troubled-fleet.prom")
	if err == nil {
		_, err = io.WriteString(w, regexp.MustCompile(`RISES`).ReplaceAllString(string(page), fmt.Sprint(f.scrapes*100)))
	}
	if err != nil {
		f.t.Error(err)
	}
}

// TestTroubledFleetHasTheMetricsOfTheReference keeps that fleet true to what processes serve, and to what alerts need.
func TestTroubledFleetHasTheMetricsOfTheReference(t *testing.T) {
	known := documentedMetrics(t)["up"]
	page := strings.ReplaceAll(text(t, "testdata/troubled-fleet.prom"), "RISES", "1")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	must(t, err)
	for name, family := range families {
		metric := described(family)
		if !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, metric) }) {
			t.Errorf("%s is not in the reference: %s", name, metric)
		}
	}
	lacks := func(expr string) bool {
		return slices.ContainsFunc(regexp.MustCompile(`\bfurrow_\w+`).FindAllString(expr, -1), func(name string) bool {
			return families[strings.TrimSuffix(name, "_bucket")] == nil
		})
	}
	for _, a := range alertsOf(t, text(t, "deploy/monitoring/rules.yaml")) {
		if causes := strings.Split(a.Expr, " or "); !slices.ContainsFunc(causes, func(c string) bool { return !lacks(c) }) {
			t.Errorf("the fleet has no metrics for %s: %s", a.Alert, a.Expr)
		}
	}
}

// toldAlerts receives what Alertmanager sends.
type toldAlerts struct {
	mu  sync.Mutex
	all []alert
}

func (a *toldAlerts) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var said struct{ Alerts []alert }
	if json.NewDecoder(r.Body).Decode(&said) == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.all = append(a.all, said.Alerts...)
	}
}

// where returns the alerts that fit.
func (a *toldAlerts) where(fits func(alert) bool) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, is := range a.all {
		if fits(is) {
			names = append(names, is.Labels["alertname"])
		}
	}
	return names
}

func (a *toldAlerts) names() []string {
	all := a.where(func(alert) bool { return true })
	slices.Sort(all)
	return slices.Compact(all)
}

// count returns how often an alert was told of anything but the healthy pipeline, which is new and may be late.
func (a *toldAlerts) count(name string) int {
	return len(a.where(func(is alert) bool {
		return is.Labels["alertname"] == name && is.Labels["pipeline"] != "live"
	}))
}

func (a *toldAlerts) of(instance string) []string {
	return a.where(func(is alert) bool { return is.Labels["instance"] == instance })
}

func (a *toldAlerts) String() string { return strings.Join(a.names(), " ") }
