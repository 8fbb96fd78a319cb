package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"furrow/tables/schema"
)

// TestCustomerSeesWhatIsTheirs and no tabs, figures or links to what is not.
func TestCustomerSeesWhatIsTheirs(t *testing.T) {
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	viewer, admin := g.add(t, "vera", schema.Viewer, "contoso"), g.add(t, "anna", schema.Admin, "contoso")
	operator := g.add(t, "olga", schema.Operator, "")
	page := g.as(viewer, "/").Body.String()
	for _, part := range []string{`href="/tenants"`, `href="/pipelines"`, "–</dd>"} {
		visible := strings.ReplaceAll(page, ` hidden><dt>Readings a minute</dt><dd data-figure="readingsPerMinute">–</dd>`, "")
		visible = strings.ReplaceAll(visible, ` hidden><dt>Lag</dt><dd data-figure="lagSeconds">–</dd>`, "")
		if strings.Contains(visible, part) {
			t.Errorf("a customer's overview has %s: %s", part, visible)
		}
	}
	if !strings.Contains(page, `href="/tenants/contoso"`) {
		t.Errorf("a customer's overview does not lead to the reports: %s", page)
	}
	page = g.as(operator, "/").Body.String()
	if !strings.Contains(page, `href="/tenants"`) || !strings.Contains(page, `href="/pipelines"`) {
		t.Errorf("an operator's overview lacks a tab: %s", page)
	}
	for _, address := range []string{"/costs", "/retention", "/v1/costs", "/v1/retention"} {
		if w := g.as(viewer, address); w.Code != http.StatusForbidden ||
			!strings.Contains(w.Body.String(), "its admins see costs") {
			t.Errorf("%s for a viewer of a tenant: %d %s", address, w.Code, w.Body)
		}
		if w := g.as(admin, address); w.Code != http.StatusOK {
			t.Errorf("%s for an admin of a tenant: %d %s", address, w.Code, w.Body)
		}
	}
	if page = g.as(viewer, "/tenants/contoso").Body.String(); strings.Contains(page, "/costs") ||
		strings.Contains(page, "/retention") {
		t.Errorf("a viewer's page of the tenant leads to what is not shown: %s", page)
	}
	if page = g.as(viewer, "/devices/d0000").Body.String(); strings.Contains(page, `href="/pipelines`) {
		t.Errorf("a customer's page of a device leads to pipelines: %s", page)
	}
	if page = g.as(operator, "/devices/d0000").Body.String(); !strings.Contains(page, `href="/pipelines#live"`) {
		t.Errorf("an operator's page of a device does not lead to its pipeline: %s", page)
	}
	for address, want := range map[string]string{"/pipelines": "This is about the whole fleet",
		"/incidents/hot~d0000~20260101T000000Z": "There is no such incident", "/devices/d0001": "There is no such device"} {
		if w := g.as(viewer, address); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
}

// TestDevicesAreCompared in one chart and one file, as far as somebody may see them.
func TestDevicesAreCompared(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	all, one := g.add(t, "root", schema.Viewer, ""), g.add(t, "vera", schema.Viewer, "contoso")
	const page = "/devices/d0000?span=24h&sensor=temperature&against="
	both := g.as(all, page+"d0001").Body.String()
	if !strings.Contains(both, "temperature of d0001") || !strings.Contains(both, `value="d0001"`) ||
		!strings.Contains(both, "series.csv?against=d0001") || strings.Contains(both, "with=temperature") {
		t.Errorf("the page of two devices: %s", both)
	}
	csv := g.as(all, "/devices/d0000/series.csv?window=raw&span=24h&sensor=temperature&against=d0001").Body.String()
	if strings.Count(csv, "\nd0000,temperature,") != 4 || strings.Count(csv, "\nd0001,temperature,") != 4 {
		t.Errorf("the file of two devices: %s", csv)
	}
	for against, token := range map[string]string{"nosuch": all, "d0001": one} {
		w := g.as(token, page+against)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "There is no such device") ||
			strings.Contains(body, "temperature of d0001") {
			t.Errorf("against %s: %d %s", against, w.Code, body)
		}
	}
}
