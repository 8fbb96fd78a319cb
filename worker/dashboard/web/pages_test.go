package web_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"furrow/tables/azuretest/must"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

func newPages(t testing.TB) *web.Site {
	t.Helper()
	p := must.Have(web.New(web.Config{}))(t)
	return p
}

// TestEveryPageHasItsTemplate: a page finds its template by the name of its type.
func TestEveryPageHasItsTemplate(t *testing.T) {
	var pages, templates []string
	all := slices.Collect(maps.Values(allPages()))
	for _, page := range append(all, &web.ActPage{}, &web.ActivityPage{}, &web.SignInPage{}) {
		name, _ := strings.CutSuffix(reflect.TypeOf(page).Elem().Name(), "Page")
		pages = append(pages, strings.ToLower(name)+".html")
	}
	slices.Sort(pages)
	for _, file := range must.Have(os.ReadDir("templates"))(t) {
		if !slices.Contains([]string{"base.html", "parts.html", "person.html"}, file.Name()) {
			templates = append(templates, file.Name())
		}
	}
	for _, file := range templates {
		if !slices.Contains(pages, file) {
			t.Errorf("templates/%s: no page of allPages has it; its type would be %sPage, in any case of letters", file,
				strings.TrimSuffix(file, ".html"))
		}
	}
	for _, file := range slices.Compact(pages) {
		if !slices.Contains(templates, file) {
			t.Errorf("a page wants templates/%s, which is not there", file)
		}
	}
}

// parsed parses a page as a browser without scripts does.
func parsed(t testing.TB, text string) *html.Node {
	t.Helper()
	root := must.Have(html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false)))(t)
	return root
}

func render(t testing.TB, p *web.Site, page web.Page) string {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, p.Render(&b, page))
	return b.String()
}

// TestPagesFollowThePolicy proves that no page has inline code or loads anything from elsewhere.
func TestPagesFollowThePolicy(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		text := render(t, p, page)
		root := parsed(t, text)
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "style" || n.Data == "script" && (attribute(n, "src") == "" || n.FirstChild != nil) {
				t.Errorf("%s: inline %s", name, n.Data)
			}
			for _, a := range n.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s>", name, n.Data, a.Key)
				}
				if slices.Contains([]string{"href", "src", "action", "poster", "srcset"}, a.Key) && !strings.HasPrefix(a.Val,
					"/") && !strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%s: <%s %s=%q> leads elsewhere", name, n.Data, a.Key, a.Val)
				}
			}
		}
		for _, word := range []string{"NaN", "Inf", "%!", "ZgotmplZ", "<no value>"} {
			if strings.Contains(strings.ReplaceAll(text, `not a number: &#34;NaN&#34;`, ""), word) {
				t.Errorf("%s: it says %s: …%s…", name, word, around(text, word))
			}
		}
	}
}

func around(text, word string) string {
	i := strings.Index(text, word)
	return text[max(0, i-80):min(len(text), i+80)]
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// TestReferencesResolve proves that IDs are unique and that every reference has a target.
func TestReferencesResolve(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		root := parsed(t, render(t, p, page))
		ids := map[string]int{}
		var asked []string
		for n := range root.Descendants() {
			if n.Type == html.ElementNode {
				if id := attribute(n, "id"); id != "" {
					ids[id]++
				}
				for _, key := range []string{"aria-labelledby", "aria-describedby", "aria-controls", "for"} {
					asked = append(asked, strings.Fields(attribute(n, key))...)
				}
				if id, found := strings.CutPrefix(attribute(n, "href"), "#"); found {
					asked = append(asked, id)
				}
				switch n.Data {
				case "input", "select":
					if attribute(n, "type") != "hidden" && (n.Parent == nil || n.Parent.Data != "label") {
						t.Errorf("%s: a field without a label: %s", name, attribute(n, "name"))
					}
				case "button", "a":
					if words(n) == "" && attribute(n, "aria-label") == "" {
						t.Errorf("%s: a %s without a text: %v", name, n.Data, n.Attr)
					}
				}
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: %d elements have the ID %s", name, n, id)
			}
		}
		for _, id := range asked {
			if ids[id] == 0 {
				t.Errorf("%s: no element has the ID %q", name, id)
			}
		}
	}
}

func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestNamesAreEscapedEverywhere(t *testing.T) {
	p := newPages(t)
	for name, page := range allPages() {
		if !strings.HasSuffix(name, "/hostile") {
			continue
		}
		text := render(t, p, page)
		if strings.Contains(text, "<script>alert") {
			t.Errorf("%s: a name became a script", name)
		}
		if !strings.Contains(text, "alert(1)") {
			t.Errorf("%s: a name is not shown", name)
		}
	}
}

// TestMapWorksWithoutScripts expects a base map, a link for each group and device, and the lists.
func TestMapWorksWithoutScripts(t *testing.T) {
	page := allPages()["world"].(*web.MapPage)
	text := render(t, newPages(t), page)
	links, rows, grounds := 0, 0, 0
	for n := range parsed(t, text).Descendants() {
		switch {
		case n.Data == "image" && strings.HasSuffix(attribute(n, "href"), "/world.svg"):
			grounds++
		case n.Data == "a" && n.Parent.Data == "svg" && attribute(n.Parent, "class") == "still":
			links++
		case n.Data == "tr" && n.Parent.Data == "tbody":
			rows++
		}
	}
	if marks := len(page.Map.Clusters) + len(page.Map.Devices); grounds != 1 || links != marks ||
		rows != len(page.Map.Clusters)+len(page.List.Devices) {
		t.Errorf("%d base maps, %d links for %d marks, %d rows", grounds, links, marks, rows)
	}
	withScripts := must.Have(html.Parse(strings.NewReader(text)))(t)
	for n := range withScripts.Descendants() {
		if attribute(n, "class") == "still" {
			t.Error("with scripts, there are two maps")
		}
	}
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	p := newPages(t)
	for name, say := range map[string]string{
		"world/empty": "furrow simulate", "devices/empty": "No devices yet", "device/empty": "No values yet",
		"pipelines/empty": "furrow up", "incidents/empty": "Rules in the configuration",
		"incident/empty": "Nobody has acknowledged", "pipeline/new": "No runs yet",
		"tenants/empty":  "appears with its first device",
		"tenant/empty":   "No sensors yet",
		"complete/empty": "Nothing is verified by itself", "archive/empty": "without a configuration",
		"archive/choose": "Choose a tenant", "archive/new": "when it is over",
	} {
		if text := render(t, p, allPages()[name]); !strings.Contains(text, say) {
			t.Errorf("%s does not say %q", name, say)
		}
	}
}

func TestPolicyAllowsNothingUnsafe(t *testing.T) {
	for _, word := range []string{"unsafe", "*", "http:", "https:", "blob:", "data:"} {
		if strings.Contains(web.Policy, word) {
			t.Errorf("the policy allows %s", word)
		}
	}
	for _, rule := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'",
		"script-src 'self'", "style-src 'self'"} {
		if !strings.Contains(web.Policy, rule) {
			t.Errorf("the policy lacks %s", rule)
		}
	}
}

// TestStaticFilesAreNamedByTheirHash requests every file that a page or a script names, and others.
func TestStaticFilesAreNamedByTheirHash(t *testing.T) {
	p := newPages(t)
	s := httptest.NewServer(p.Static())
	defer s.Close()
	named := regexp.MustCompile(`/static/[0-9a-f]{16}/[a-z.]+`)
	seen := map[string]bool{}
	ask := func(address string) string {
		seen[address] = true
		got := must.Have(http.Get(s.URL + address))(t)
		defer got.Body.Close()
		body := must.Have(io.ReadAll(got.Body))(t)
		if got.StatusCode != http.StatusOK || !strings.Contains(got.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s %v", address, got.Status, got.Header)
		}
		return string(body)
	}
	for _, page := range allPages() {
		for _, address := range named.FindAllString(render(t, p, page), -1) {
			if seen[address] {
				continue
			}
			text := ask(address)
			beside := address[:strings.LastIndex(address, "/")+1]
			for _, more := range regexp.MustCompile(`from "\./([a-z]+\.js)"`).FindAllStringSubmatch(text, -1) {
				ask(beside + more[1])
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d files are named: %v", len(seen), seen)
	}
	for _, wrong := range []string{"/static/0123456789abcdef/furrow.css", "/static/furrow.css", "/static/",
		"/static/../pages.go"} {
		got := must.Have(http.Get(s.URL + wrong))(t)
		got.Body.Close()
		if got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", wrong, got.Status)
		}
	}
}

// standOut returns a device that stands out, and says that there is another one.
func standOut(device string) model.OutlierList {
	return model.OutlierList{Compared: 2000, Total: 2, Rows: []answers.Outlier{{Device: device, Tenant: device,
		Site: device, Kind: "off", Sensor: device, Value: number(31.5), Unit: device, Median: number(8.2), Score: number(157),
		Neighbours: 12, Group: device, Text: device}}}
}
