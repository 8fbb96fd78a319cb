package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"furrow/tables/azuretest/effort"
	"furrow/worker/dashboard/api"
)

// worst has the dearest values of each parameter: the longest, the deepest, the largest numbers, and wrong ones. Nobody
// has thought about the bound of a parameter that is missing here.
func worst() map[string][]string {
	long := func(text string) string { return strings.Repeat(text, 3800/len(text)) }
	return map[string][]string{
		"tenant": {long("t")}, "site": {long("s")}, "label": {long("l") + "=x", "floor=" + long("x")}, "model": {long("m")},
		"text": {long("a"), long("%_")}, "state": {long("silent,")}, "prefix": {long("d"), long("\U0010ffff")},
		"where": {
			`note matches "^` + strings.Repeat("a{0,1000}", 105) + `b$"`, // stands for a million characters
			`note matches "a{0,450}b"`,                                   // for nearly a thousand
			`note matches "(?i)[` + strings.Repeat("b-\U0001e942", 150) + `]"`,
			long("(") + "1",
			long("not ") + "true",
			"temperature > 0" + long(" or temperature > 0"),
			`note == "` + long("x") + `"`,
			`note in [` + long(`"x",`) + `"x"]`,
		},
		"bbox": {"-180,-90,180,90", long("9") + ",0,1,1"}, "zoom": {"30", "1e308", long("9")},
		"sensor": {long("s")}, "sensors": {long("s,")}, "with": {long("w")}, "devices": {long("d,"), long("d")},
		"sort": {"value", long("v")}, "after": {long("A"), long("%00")}, "limit": {"100000", long("9")},
		"newest": {"100000", long("9")}, "generation": {"9999999999", long("9")},
		"format": {"csv", "json", long("f")},
		"from":   {"0001-01-01", long("9")}, "to": {"9999-12-31", "0001-01-02"}, "span": {"366d", long("9") + "d"},
		"window": {"1m", "raw", long("9") + "m"}, "day": {"0001-01-01", "9999-12-31", long("9")},
		"month": {"0001-01", "9999-12", long("9")}, "period": {"month", long("p")}, "by": {"labels." + long("x"), "tenant"},
		"table": {"readings", long("t")}, "path": {"archive/contoso/" + long("p") + ".parquet", long("../")},
		"against":  {"d0001", long("d")},
		"severity": {long("critical,")}, "rule": {long("r")}, "device": {long("d")}, "storage": {long("s")},
	}
}

const (
	mostAllocated = 2 << 20 // bytes, for one answer about a small fleet
	mostAnswered  = 2 << 20 // bytes
)

// TestEveryRequestIsBounded has each address asked with the worst of each of its parameters, and of all headers and
// cookies, by somebody who is let in and by somebody who is not. What a request allocates bounds what it can compute.
func TestEveryRequestIsBounded(t *testing.T) {
	effort.Alone(t)
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	stranger := newFixture(t, 0, Config{Secrets: Secrets{Token: "right"}})
	values, asked, most, by := worst(), 0, uint64(0), ""
	ask := func(d *Dashboard, method, target string, header http.Header, body string) {
		t.Helper()
		asked++
		n, w := allocates(d, method, target, header, body)
		for range 2 { // what runs beside it allocates, too, now and then
			if n > mostAllocated {
				again, _ := allocates(d, method, target, header, body)
				n = min(n, again)
			}
		}
		if n > most {
			most, by = n, method+" "+target
		}
		if n > mostAllocated || w.Body.Len() > mostAnswered {
			t.Errorf("%s %.200s allocates %d bytes and answers %d with %d bytes", method, target, n, w.Code, w.Body.Len())
		}
		if w.Code >= http.StatusInternalServerError && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s %.200s: %d %s", method, target, w.Code, w.Body)
		}
	}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	var keys strings.Builder
	for i := range 9_999 {
		fmt.Fprintf(&keys, "%x&", i)
	}
	for _, route := range f.routes {
		method, pattern, has := strings.Cut(route.Pattern, " ")
		if !has {
			method, pattern = http.MethodGet, route.Pattern
		}
		if strings.HasSuffix(pattern, "/stream") {
			method = http.MethodHead // what it streams are maps, whose address is asked, too
		}
		target := inPath(pattern)
		if strings.Contains(target, "{") {
			t.Fatalf("%s has a part without a value", pattern)
		}
		large := http.Header{"Content-Type": {"application/json"}, "Accept": {strings.Repeat("text/csv,", 1500)},
			"Cookie": {"furrow=" + strings.Repeat("c", 14_000)}, "Authorization": {"Bearer " + strings.Repeat("b", 14_000)}}
		for _, d := range []*Dashboard{f.Dashboard, stranger.Dashboard} {
			ask(d, method, target, http.Header{}, "")
			ask(d, method, target, large, strings.Repeat("[", 1<<20))
			ask(d, http.MethodPost, target, large, strings.Repeat("a=b&", 1<<18))
			ask(d, http.MethodPost, target, form, keys.String())
			ask(d, http.MethodPost, target+"?"+keys.String()[:15_000], form, "")
			ask(d, method, target+"?"+strings.Repeat("x", 15_000), http.Header{}, "")
			for _, name := range route.Params {
				if len(values[name]) == 0 {
					t.Errorf("%s takes %s, which has no worst value here", pattern, name)
				}
				for _, value := range values[name] {
					ask(d, method, target+"?"+url.Values{name: {value}}.Encode(), http.Header{}, "")
				}
			}
		}
	}
	t.Logf("%d requests; %.100s allocates the most, %d KiB", asked, by, most>>10)
}

// allocates answers a request, and returns how many bytes the process has allocated meanwhile.
func allocates(d *Dashboard, method, target string, header http.Header, body string) (uint64,
	*httptest.ResponseRecorder) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host, r.Header = "127.0.0.1:10090", header
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, w
}

// inPath puts the longest names into a pattern.
func inPath(pattern string) string {
	for _, part := range []string{"id", "tenant", "incident", "pipeline", "command"} {
		pattern = strings.ReplaceAll(pattern, "{"+part+"}", strings.Repeat("d", 4000))
	}
	return strings.ReplaceAll(pattern, "{$}", "")
}

// TestFilesAreQuestionsToo: a file of the whole fleet is refused while the person has too many questions.
func TestFilesAreQuestionsToo(t *testing.T) {
	d := newDashboard(t, Config{Loopback: true})
	for {
		if _, err := d.api.Question(api.Person{}); err != nil {
			break
		}
	}
	for _, target := range []string{"/v1/devices?format=csv", "/v1/query"} {
		if w := d.get(target); w.Code != http.StatusTooManyRequests {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
}
