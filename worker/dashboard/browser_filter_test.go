package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/chromedp/chromedp"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// newOddFleet returns a fleet in which each filter can select one device, odd-1, and one of its incidents.
func newOddFleet(t *testing.T) (f *fixture, url string) {
	t.Helper()
	f = over(t, modeltest.New(t, azuretest.Local(t)), Config{Loopback: true}, archiving())
	now := time.Now()
	for i, id := range []schema.DeviceID{"pump-1", "pump-2", "pump-3", "odd-1"} {
		d := schema.Device{ID: id, Site: "north", Labels: map[string]string{"floor": "1"},
			Position: &schema.Position{Lat: 50 + float64(i), Lon: 10}}
		rule, severity, opened, temperature := schema.Rule("cold"), "warning", now.Add(-3*time.Hour), 10.0
		if id == "odd-1" {
			d.Tenant, d.Site, d.Labels, d.Status = "fabrikam", "south", map[string]string{"floor": "2"}, schema.Revoked
			rule, severity, opened, temperature = "hot", "critical", now.Add(-30*time.Minute), 90
		}
		f.Add(t, d)
		f.Send(t, id, now.Add(-time.Minute), map[string]any{"temperature": temperature})
		f.Opens(t, rule, id, opened, severity)
	}
	f.Closes(t, f.Opens(t, "hot", "odd-1", now.Add(-50*time.Minute), "critical"), now.Add(-40*time.Minute))
	f.Fold(t)
	f.Report(t)
	url, stop, ended := f.serve(t)
	t.Cleanup(func() { stop(); must.Succeed(t, <-ended) })
	f.waitFor(t, 4)
	f.waitForIncidents(t, 4)
	return f, url
}

// TestBrowserFiltersByEveryField sets each filter of each page as a person does. The page then shows what the filter
// selects, and keeps it in its address.
func TestBrowserFiltersByEveryField(t *testing.T) {
	t.Parallel()
	_, at := newOddFleet(t)
	b := newBrowser(t)
	b.refused = true
	odd := map[string]string{"text": "ODD", "state": "revoked", "tenant": "fabrikam", "site": "south", "label": "floor=2",
		"model": "south-model", "where": "temperature > 50", "severity": "critical", "rule": "hot", "device": "odd-1",
		"span": "1h"}
	const onlyOdd = `(() => { const all = [...document.querySelectorAll("#rows a[href^='/devices/']")].map((a) => ` +
		`a.textContent); return all.length > 0 && all.every((id) => id === "odd-1"); })()`
	for _, page := range []string{"/", "/devices", "/incidents"} {
		b.open(at + page)
		names := strings.Fields(b.text(`[...document.getElementById("filter").elements].filter((e) => e.name && ` +
			`!("choice" in e.dataset)).map((e) => e.name).join(" ")`))
		if len(names) < 7 {
			t.Errorf("%s has only the filters %v", page, names)
		}
		for _, name := range names {
			value := odd[name]
			if page == "/incidents" && name == "state" {
				value = "closed"
			}
			if value == "" {
				t.Errorf("%s has the filter %s, and this test does not know what selects by it", page, name)
				continue
			}
			b.open(at + page)
			b.enters(name, value)
			b.sees(page+" is filtered by "+name, onlyOdd+fmt.Sprintf(` && new URLSearchParams(location.search).get(%q) === %q`,
				name, value))
			if page == "/" {
				b.sees("the map is, too", `byId("total").textContent === "1"`)
				b.sees("every link keeps "+name, fmt.Sprintf(`(() => { const links = [...document.querySelectorAll(`+
					`"main a[href^='/?'], main a[href^='/devices?'], main a[href^='/incidents?'], main a[href^='/outliers?']")]; return links.length > 5 && `+
					`links.every((a) => %q === "state" || new URL(a.href).searchParams.get(%q) === %q); })()`, name, name, value))
			}
		}
	}
	for _, page := range []string{"/", "/devices", "/incidents"} {
		b.open(at + page + "?site=south")
		b.enters("where", "nosuch > 5")
		b.sees(page+" says what is wrong beside the field", `byId("wrong-where").textContent.includes("nosuch") && `+
			`!byId("wrong-where").hidden && byId("filter").elements.where.value === "nosuch > 5"`)
		b.sees("what is right filters", onlyOdd+` && byId("filter").elements.site.value === "south"`)
		b.enters("where", "temperature < 50")
		b.sees("it can be corrected there", `byId("wrong-where").hidden && !document.querySelector("#rows a[href^='/devices/']")`)
	}
}

// TestLinksKeepTheFilters follows no link of a page with filters that leads to another list without them.
func TestLinksKeepTheFilters(t *testing.T) {
	f, _ := newOddFleet(t)
	filters := url.Values{"text": {"ODD"}, "tenant": {"fabrikam"}, "site": {"south"}, "label": {"floor=2"},
		"model": {"south-model"}, "where": {"temperature > 50"}}
	for page, also := range map[string]string{"/": "&state=revoked", "/devices": "&state=revoked", "/outliers": "",
		"/incidents": "&rule=hot"} {
		links := 0
		for _, to := range listsLinked(t, f.get(page+"?"+filters.Encode()+also)) {
			links++
			for name, texts := range filters {
				if to.Query().Get(name) != texts[0] {
					t.Errorf("%s leads to %s without the filter %s", page, to, name)
				}
			}
			if w := f.get(to.Path + "?" + to.RawQuery); w.Code != http.StatusOK {
				t.Errorf("%s leads to %s: %d %s", page, to, w.Code, w.Body)
			}
		}
		if links < 1 {
			t.Errorf("%s has only %d links to lists", page, links)
		}
	}
}

// listsLinked returns the lists with parameters that the main part of a page leads to.
func listsLinked(t *testing.T, w *httptest.ResponseRecorder) (all []*url.URL) {
	t.Helper()
	root, within := must.Have(html.Parse(strings.NewReader(w.Body.String())))(t), false
	for n := range root.Descendants() {
		within = within || n.Data == "main"
		for _, a := range n.Attr {
			if !within || n.Data != "a" || a.Key != "href" {
				continue
			}
			to := must.Have(url.Parse(a.Val))(t)
			clears := n.FirstChild != nil && (n.FirstChild.Data == "Clear" || strings.HasPrefix(n.FirstChild.Data, "Show "))
			lists := []string{"/", "/devices", "/devices.csv", "/outliers", "/incidents", "/incidents.csv"}
			if slices.Contains(lists, to.Path) && !clears {
				all = append(all, to)
			}
		}
	}
	return all
}

// enters sets a field of the page's form, and sends it where the page does not follow by itself.
func (b *browser) enters(name, value string) {
	b.t.Helper()
	b.sees("there is the field "+name, fmt.Sprintf(`document.readyState === "complete" && byId("filter").elements[%q]`, name))
	b.does(fmt.Sprintf(`{ const form = byId("filter"), field = form.elements[%q]; field.value = %q; `+
		`field.dispatchEvent(new Event("input", { bubbles: true })); `+
		`const button = form.querySelector("[type=submit]"); if (!button.hidden) form.requestSubmit(button); }`, name, value))
}

func (b *browser) text(script string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
	b.must(script, err)
	return v
}

// TestEveryFormKeepsWhatIsWrong asks each page with a form for invalid values. The page keeps them in its form, beside
// what is wrong and all that is right.
func TestEveryFormKeepsWhatIsWrong(t *testing.T) {
	f, _ := newOddFleet(t)
	long := strings.Repeat("x", 300)
	invalid := map[string]string{"where": "temperature >", "site": long, "label": "=x", "state": "lost", "tenant": long,
		"sensor": "nosuch", "severity": "loud", "rule": "a b", "device": "a b", "span": "1 fortnight", "day": "yesterday",
		"by": "height", "from": "soon", "to": "2001-01-01T00:00", "sort": "beauty"}
	valid := map[string]string{"text": "pump", "model": "x"}
	seen := map[string]bool{}
	for _, page := range []string{"/", "/devices", "/outliers", "/incidents", "/tenants/contoso/report", "/archive"} {
		for _, field := range formOf(t, f.get(page)) {
			if _, any := valid[field.name]; any {
				continue
			}
			wrong := invalid[field.name]
			if wrong == "" {
				t.Errorf("%s has the field %s, and this test has no invalid value for it", page, field.name)
				continue
			}
			seen[field.name] = true
			query := url.Values{field.name: {wrong}}
			if page == "/" || page == "/devices" {
				query.Set("text", "pump")
			}
			w := f.get(page + "?" + query.Encode())
			fields := formOf(t, w)
			at := slices.IndexFunc(fields, func(f formField) bool { return f.name == field.name })
			if w.Code != http.StatusBadRequest || at < 0 || fields[at].value != wrong || !fields[at].invalid ||
				!strings.Contains(w.Body.String(), "This is not applied.") {
				t.Errorf("%s?%s: %d, and the form has %+v", page, query.Encode(), w.Code, fields)
			}
			if query.Has("text") && fields[0].value != "pump" {
				t.Errorf("%s?%s: the form has lost what is right: %+v", page, query.Encode(), fields)
			}
		}
	}
	w := f.get("/devices?where=temperature+%3E&label==x&sensor=nosuch")
	if strings.Count(w.Body.String(), "This is not applied.") != 3 {
		t.Errorf("three invalid values: %s", w.Body)
	}
}

type formField struct {
	name, value string
	invalid     bool
}

// formOf returns the fields of a page's form that people see.
func formOf(t *testing.T, w *httptest.ResponseRecorder) (fields []formField) {
	t.Helper()
	root := must.Have(html.Parse(strings.NewReader(w.Body.String())))(t)
	attribute := func(n *html.Node, name string) (string, bool) {
		i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
		if i < 0 {
			return "", false
		}
		return n.Attr[i].Val, true
	}
	inForm := false
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id, _ := attribute(n, "id"); n.Data == "form" {
			inForm = id == "filter"
		}
		if !inForm {
			continue
		}
		name, _ := attribute(n, "name")
		kind, _ := attribute(n, "type")
		value, _ := attribute(n, "value")
		_, invalid := attribute(n, "aria-invalid")
		switch _, selected := attribute(n, "selected"); {
		case n.Data == "option" && selected:
			fields[len(fields)-1].value = value
		case n.Data == "select" || n.Data == "input" && kind != "hidden":
			fields = append(fields, formField{name, value, invalid})
		}
	}
	return fields
}
