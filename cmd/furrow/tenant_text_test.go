package main

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// TestTenantsSitesAndLabelsAreAnyText: characters with a meaning in keys, URLs, filters, CSV or HTML work
// in registration, import, tokens, folds, queries, rewinds and pages.
func TestTenantsSitesAndLabelsAreAnyText(t *testing.T) {
	t.Parallel()
	const (
		tenant = "Größe & Co / #1 ünïcode 'quoted'"
		place  = `Halle "7", <Süd> 100 %`
		label  = "Typ & Größe=p/7, 'x'"
	)
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant", tenant)
	f.must("enrollment add plant2 --tenant Größe")
	f.must("device add pump-1 --enrollment plant1 --json --site", place, "--label", label)
	for name, text := range map[string]string{
		"fleet.csv": "id,tenant,site,label.Typ & Größe\npump-2,\"" + tenant + "\",\"" +
			strings.ReplaceAll(place, `"`, `""`) + "\",\"p/7, 'x'\"\n",
		"fleet.jsonl": jsonText(t, map[string]any{"id": "pump-3", "tenant": tenant, "site": place,
			"labels": map[string]string{"Typ & Größe": "p/7, 'x'"}}) + "\n",
	} {
		file := filepath.Join(t.TempDir(), name)
		writeFile(t, file, text)
		f.must("device import --enrollment plant1", file)
	}
	f.must("device add other --enrollment plant2 --json")
	out := f.must("device list --json --tenant", tenant, "--site", place, "--label", label)
	if n := strings.Count(out, "\n"); n != 3 || strings.Count(out, tenant) != 3 || strings.Contains(out, "other") {
		t.Errorf("the devices of the tenant and site are\n%s", out)
	}
	at := time.Now().Add(-2 * time.Hour)
	for _, id := range []string{"pump-1", "pump-2", "pump-3", "other"} {
		f.send(id, at)
	}
	f.must("schedule --once")
	f.must("worker --idle-exit 1s")
	span := []string{"--from", at.Add(-time.Hour).Format(time.RFC3339), "--to", at.Add(time.Hour).Format(time.RFC3339)}
	for _, args := range [][]string{{"--latest"}, append([]string{"--window", "1h"}, span...)} {
		out := f.must("query --format jsonl", append(args, "--tenant", tenant)...)
		if strings.Count(out, "\n") != 3 || strings.Contains(out, "other") || !strings.Contains(out, "21.5") {
			t.Errorf("query %q says\n%s", args, out)
		}
	}
	f.says("would fold 3 devices", "rewind --to -1d --dry-run --tenant", tenant)
	f.must("rejects --tenant", tenant)
	f.pages(t, tenant, place)
}

// send writes a reading with the device's own token.
func (f *fixture) send(id string, at time.Time) {
	f.t.Helper()
	a := jsonOf[sas.Answer](f.t, f.must("token --json", id))[0]
	row := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"temperature":21.5}`, id, tables.TicksOf(at).String())
	w, err := http.Post(a.URL+"?"+a.SAS, "application/json", strings.NewReader(row))
	must(f.t, err)
	w.Body.Close()
	if w.StatusCode != http.StatusCreated {
		f.t.Fatalf("device %s: storage responds %s", id, w.Status)
	}
}

// pages follows links from the list of tenants to a device of the tenant, and back.
func (f *fixture) pages(t *testing.T, tenant, site string) {
	t.Helper()
	d := startDashboard(t, "--storage", f.storage)
	link := regexp.MustCompile(`href="([^"]*)"`)
	follow := func(page, prefix string) (string, string) {
		t.Helper()
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			if to, _ := url.PathUnescape(html.UnescapeString(m[1])); strings.HasPrefix(to, prefix) &&
				strings.Contains(to, "#1") {
				u, err := url.Parse(d.said.Dashboard)
				must(t, err)
				u, err = u.Parse(html.UnescapeString(m[1]))
				must(t, err)
				return get(t, http.DefaultClient, u.String(), ""), to
			}
		}
		t.Fatalf("no link to %s… of the tenant in\n%s", prefix, page)
		return "", ""
	}
	list := get(t, http.DefaultClient, d.said.Dashboard+"tenants", "")
	page, _ := follow(list, "/tenants/")
	for _, want := range []string{"Größe &amp; Co / #1 ünïcode &#39;quoted&#39;", "temperature"} {
		if !strings.Contains(page, want) {
			t.Errorf("the tenant's page does not contain %q:\n%s", want, page)
		}
	}
	devices, _ := follow(page, "/devices?tenant=")
	for _, id := range []string{"pump-1", "pump-2", "pump-3"} {
		if !strings.Contains(devices, `href="/devices/`+id+`"`) {
			t.Errorf("the tenant's devices do not include %s:\n%s", id, devices)
		}
	}
	if strings.Contains(devices, `href="/devices/other"`) {
		t.Error("the tenant's devices include another tenant's")
	}
	device := get(t, http.DefaultClient, d.said.Dashboard+"devices/pump-1", "")
	if !strings.Contains(device, html.EscapeString(tenant)) || !strings.Contains(device, html.EscapeString(site)) {
		t.Errorf("the device's page is\n%s", device)
	}
	follow(device, "/tenants/")
	if at, _ := follow(device, "/devices?tenant="); !strings.Contains(at, `href="/devices/pump-2"`) {
		t.Errorf("the devices of the site are\n%s", at)
	}
	var day struct{ Tenant string }
	data := get(t, http.DefaultClient, d.said.Dashboard+"v1/tenants/"+url.PathEscape(tenant)+"/day?sensor=temperature", "")
	if must(t, json.Unmarshal([]byte(data), &day)); strings.Contains(data, "error") {
		t.Errorf("the tenant's day is %s", data)
	}
	d.mustEnd(t)
}
