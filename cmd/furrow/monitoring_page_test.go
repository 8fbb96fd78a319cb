package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
)

const pagedConfig = `
pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rules]}]
rules: {hot: {when: {threshold: {sensor: oil, above: 190}}, severity: critical, notify: oncall}}
notify: {oncall: {alertmanager: {url: "URL", private: true}, repeat: 1m}}
`

// TestPageGoesThroughAlertmanagerAndBack: an incident of a fleet is one page, by Debian's Alertmanager. Meanwhile the
// device gets another site and other labels, and the Alertmanager is restarted, which makes it forget its alerts.
// Furrow tells it again, nobody is paged twice, and when the incident closes the same page is resolved.
func TestPageGoesThroughAlertmanagerAndBack(t *testing.T) {
	effort.OnlyLong(t, "TestAlertmanagerThatWasRestartedHasTheOpenAlertsAgain of jobs/notify imitates Alertmanager")
	needMonitoring(t)
	t.Parallel() // it mostly waits
	dir, at, told := t.TempDir(), t.TempDir(), &toldAlerts{}
	receiver := httptest.NewServer(told)
	defer receiver.Close()
	manager, stop := startAlertmanager(t, at, receiver.URL, true)
	var now atomic.Pointer[url.URL] // of the Alertmanager that runs
	use := func(server string) {
		u, err := url.Parse(server)
		must(t, err)
		now.Store(u)
	}
	use(manager)
	fixed := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(now.Load()) }})
	defer fixed.Close()
	config := filepath.Join(at, "furrow.yaml")
	writeFile(t, config, strings.Replace(pagedConfig, "URL", fixed.URL, 1))
	log := &lockedBuffer{}
	startProcess(t, io.Discard, log, nil, "up", "--no-dashboard", "--listen", "127.0.0.1:0", "--storage-port", "0",
		"--storage", dir, "--config", config)
	await(t, log, func() bool { return strings.Contains(log.String(), "scheduler started") })
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant acme --written-by-others")
	f.must("device add pump-7 --enrollment plant1 --site plant-3 --label class=Fryer")
	measured := func(value float64) {
		t.Helper()
		_, err := f.client.Table("readings").Do(t.Context(), tables.Insert(oil("pump-7", time.Now(), value)))
		must(t, err)
	}
	measured(210)
	paged := func(status string) []alert {
		told.mu.Lock()
		defer told.mu.Unlock()
		var all []alert
		for _, a := range told.all {
			if a.Status == status {
				all = append(all, a)
			}
		}
		return all
	}
	await(t, log, func() bool { return len(paged("firing")) > 0 })

	f.must("device set pump-7 --site plant-9 --label class=Oven --label added=x")
	stop()
	manager, _ = startAlertmanager(t, at, receiver.URL, true)
	if open := openAlerts(t, manager); len(open) > 0 {
		t.Fatalf("it remembers %v: nothing is shown", open)
	}
	use(manager)
	await(t, log, func() bool { return len(openAlerts(t, manager)) > 0 })
	measured(100)
	await(t, log, func() bool { return len(paged("resolved")) > 0 })
	fires, ends := paged("firing"), paged("resolved")
	if len(fires) != 1 || len(ends) != 1 || !reflect.DeepEqual(fires[0].Labels, ends[0].Labels) ||
		fires[0].Labels["site"] != "plant-3" || fires[0].Labels["label_class"] != "Fryer" {
		t.Errorf("paged %v, resolved %v", fires, ends)
	}
	if open := openAlerts(t, manager); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
}

// openAlerts returns the alerts that an Alertmanager has and that fire.
func openAlerts(t *testing.T, manager string) (all []alert) {
	t.Helper()
	status, body := fetched(t, manager+"/api/v2/alerts")
	if status != http.StatusOK {
		t.Fatalf("alerts: %d, %s", status, body)
	}
	var open []struct{ Labels map[string]string }
	must(t, json.Unmarshal(body, &open))
	for _, a := range open {
		all = append(all, alert{Labels: a.Labels})
	}
	return all
}
