package dashboard

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/dashboard/web"
)

// TestEveryRouteHasAnAddress: what addresses has is tried by several tests, which would leave a new route out.
func TestEveryRouteHasAnAddress(t *testing.T) {
	t.Parallel()
	d := must.Have(New(Config{}))(t)
	mux, tried := http.NewServeMux(), map[string]bool{}
	for _, route := range d.routes {
		mux.Handle(route.Pattern, http.NotFoundHandler())
	}
	own := []string{"/v1/stream", "/v1/devices/x/stream", "/incidents/x", "/v1/incidents/x", "/v1/archive/files",
		"/v1/archive/file", "/v1/devices/x/desired", "/devices/x/series.csv", "/devices.csv",
		"/incidents.csv", "/reports.csv"} // have tests of their own
	for _, target := range append(own, addresses()...) {
		_, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, target, nil))
		tried[pattern] = true
	}
	for _, route := range d.routes {
		if !strings.Contains(route.Pattern, " ") && !tried[route.Pattern] {
			t.Errorf("addresses, in fixture_test.go, has none of %s", route.Pattern)
		}
	}
}

// TestEveryAddressAnswers checks what all answers have in common.
func TestEveryAddressAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 12, Config{Loopback: true,
		Config: web.Config{Storage: "https://acct.table.core.windows.net", Version: "v1"}})
	f.run(t, 12)
	for _, target := range addresses() {
		w := f.get(target)
		page := !isAPI(strings.Split(target, "?")[0])
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		if page != strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s is %s", target, w.Header().Get("Content-Type"))
		}
		if page && (w.Header().Get("Content-Security-Policy") != web.Policy ||
			!strings.HasSuffix(strings.TrimSpace(w.Body.String()), "</html>")) {
			t.Errorf("%s is not a whole page with the policy", target)
		}
		if !page && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s is not JSON: %s", target, w.Body)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy":            "same-origin", "Content-Security-Policy": "default-src 'none'",
		} {
			if got := w.Header().Get(header); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q", target, header, got)
			}
		}
		if cached := w.Header().Get("Cache-Control"); cached == "" || strings.Contains(cached, "public") {
			t.Errorf("%s: Cache-Control is %q", target, cached)
		}
		if head := f.do("HEAD", target); head.Code != 200 || head.Body.Len() > 0 {
			t.Errorf("HEAD %s: %d with a body of %d bytes", target, head.Code, head.Body.Len())
		}
	}
}

func TestAnswersAreCompressedAndTagged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	for _, target := range []string{"/", "/v1/map", "/devices/d0001", "/v1/devices", "/openapi.json"} {
		w := f.get(target, "Accept-Encoding", "br, gzip")
		z, err := gzip.NewReader(w.Body)
		if err != nil || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s is not compressed: %v, %v", target, err, w.Header())
			continue
		}
		if plain, err := io.ReadAll(z); err != nil || len(plain) < 1000 {
			t.Errorf("%s: %d bytes, %v", target, len(plain), err)
		}
		if w := f.get(target, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed for a client that refuses it", target)
		}
	}
	tag := f.get("/openapi.json").Header().Get("ETag")
	if w := f.get("/openapi.json", "If-None-Match", `"x", `+tag); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("with the current ETag: %d, and %d bytes", w.Code, w.Body.Len())
	}
	if w := f.get("/openapi.json", "If-None-Match", `"x"`); w.Code != 200 {
		t.Errorf("with an old ETag: %d", w.Code)
	}
}

// TestCostDoesNotDependOnTheSizeOfTheFleet counts the requests of each address at the transport, before
// anything is cached, and compares them with what the answer says.
func TestCostDoesNotDependOnTheSizeOfTheFleet(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, n := range []int{6, 48} {
		fleet := modeltest.New(t, azuretest.Local(t))
		fleet.Grow(t, n)
		for target, limit := range map[string]int{
			"/v1/devices/d0001": 1 + 3 + 2,
			"/v1/devices/d0001/series?span=1h&sensor=temperature": 1 + 1,
			"/v1/devices/d0001/series?span=7d&sensor=temperature": 1 + 1 + 9,
			"/v1/devices/d0001/series?span=1y&sensor=temperature": 1 + 1 + 3,
			"/v1/devices/d0001/series?span=1y":                    1 + 3 + 2 + 1 + 3,
			"/devices/d0001":                                      1 + 3 + 2 + 4 + 2, // two are kept for five minutes
			"/v1/pipelines":                                       3 + 3,
			"/pipelines":                                          3 + 3,
		} {
			f := over(t, fleet, Config{Loopback: true})
			f.Requests()
			w := f.get(target)
			if got := f.Requests(); w.Code != 200 || got > limit || got == 0 {
				t.Errorf("%s of %d devices: %d, %d requests, want at most %d", target, n, w.Code, got, limit)
			} else if said := operations(w.Body.Bytes()); strings.HasPrefix(target, "/v1/") && said != got {
				t.Errorf("%s says that it took %d operations; it took %d", target, said, got)
			}
			if w := f.get(target); w.Code != 200 || strings.HasPrefix(target, "/v1/devices/d0001/") {
				continue // a chart that ends now changes every second
			}
			if got := f.Requests(); got > limit/2 {
				t.Errorf("%s again: %d requests", target, got)
			}
		}
	}
}

// TestUnknownSensorIsAnErrorThatNamesTheOthers asks every address that takes a sensor.
func TestUnknownSensorIsAnErrorThatNamesTheOthers(t *testing.T) {
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	for _, address := range []string{"/v1/map", "/v1/stream", "/v1/devices", "/v1/devices/d0001/series",
		"/v1/tenants/contoso/day"} {
		w := f.get(address + "?sensor=temprature")
		if wantProblem(t, address, w, api.BadRequest); !strings.Contains(w.Body.String(), "door, temperature") {
			t.Errorf("%s does not name the sensors: %s", address, w.Body)
		}
	}
	for _, address := range []string{"/v1/devices/d0001/readings?", "/v1/query?", "/v1/query?window=newest&"} {
		w := f.get(address + "sensors=door,temprature")
		if wantProblem(t, address, w, api.BadRequest); !strings.Contains(w.Body.String(), "door, temperature") {
			t.Errorf("%s does not name the sensors: %s", address, w.Body)
		}
	}
	w := f.get("/v1/devices?sensor=temperature&limit=1")
	if !strings.Contains(w.Body.String(), `"sensor":"temperature","unit":"°C"`) {
		t.Errorf("the list does not name its sensor and unit: %s", w.Body)
	}
}

// TestFilesHaveWhatIsSeen compares files with the answers of the API.
func TestFilesHaveWhatIsSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	w := f.get("/v1/devices?text=D000&sort=value&sensor=temperature&format=csv")
	rows, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(rows) != 11 || rows[1][0] != "d0009" ||
		rows[1][slices.Index(rows[0], "unit")] != "°C" {
		t.Errorf("%v, %v", rows, err)
	}
	w = f.get("/devices/d0001/series.csv?span=1h&window=raw&sensor=temperature&with=door")
	if rows, err = csv.NewReader(w.Body).ReadAll(); err != nil || len(rows) != 4 || rows[1][1] != "temperature" ||
		rows[3][1] != "door" || rows[3][6] != "shut" {
		t.Errorf("%v, %v", rows, err)
	}
	if w = f.get("/devices/d0001/series.csv?sensor=nothing"); w.Code != 400 {
		t.Errorf("an unknown sensor: %d", w.Code)
	}
}

func operations(body []byte) int {
	var a struct{ Operations int }
	if json.Unmarshal(body, &a) != nil {
		return -1
	}
	return a.Operations
}

func TestFooterSaysWhatThePageCost(t *testing.T) {
	f := newFixture(t, 3, Config{Loopback: true,
		Config: web.Config{Storage: "https://acct.table.core.windows.net"}})
	f.Requests()
	page := f.get("/pipelines").Body.String()
	footer := page[strings.LastIndex(page, "<footer"):]
	if !strings.Contains(footer, strconv.Itoa(f.Requests())) || !strings.Contains(footer, "acct.table") {
		t.Errorf("the footer is %s", footer)
	}
}

func TestPipelinesNameEnrollmentsWithRowsThatNoTokenAdmitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, Config{Loopback: true})
	e := must.Have(schema.Unheard{Pipeline: "live", Enrollment: "plant1", Device: "pump-7", Devices: 2,
		At: tables.TicksOf(time.Now())}.Entity())(t)
	f.Write(t, f.Names.Runs(), e)
	const want = "found rows of 2 devices of enrollment plant1 that had no token, such as pump-7"
	if page := f.get("/pipelines").Body.String(); !strings.Contains(page, want) {
		t.Errorf("the page does not say: %s", want)
	}
	if answer := f.get("/v1/pipelines").Body.String(); !strings.Contains(answer, `"enrollment":"plant1","device":"pump-7"`) {
		t.Errorf("/v1/pipelines has %s", answer)
	}
}

func TestPagesSurviveAnOutageOfStorage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 5, Config{Loopback: true})
	f.run(t, 5)
	f.Fail(true)
	for target, want := range map[string]int{
		"/": 200, "/devices": 200, "/v1/map": 200, "/v1/devices": 200, "/healthz": 200,
		"/devices/d0001": 503, "/pipelines": 503, "/tenants/contoso": 503, "/v1/pipelines": 503, "/v1/devices/d0001": 503,
	} {
		w := f.get(target)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
		if want == 503 && (!strings.Contains(w.Body.String(), "Storage") || w.Header().Get("Retry-After") == "") {
			t.Errorf("%s does not say why: %s", target, w.Body)
		}
	}
	wantProblem(t, "during an outage", f.get("/v1/pipelines"), api.StorageUnavailable)
	f.Fail(false)
	if w := f.get("/devices/d0001"); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

func TestErrorsArePagesForPeopleAndJSONForPrograms(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, Config{Loopback: true})
	f.run(t, 2)
	for target, want := range map[string]int{"/nowhere": 404, "/devices/nobody": 404, "/tenants/nobody": 404,
		"/devices?limit=many": 400} {
		if w := f.get(target); w.Code != want || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", target, w.Code, w.Header().Get("Content-Type"))
		}
	}
	for _, target := range []string{"/v1/nowhere", "/v1/devices/nobody", "/v1/devices/nobody/series",
		"/v1/tenants/nobody/day"} {
		wantProblem(t, target, f.get(target), api.NotFound)
	}
}

// TestAnswersAreInTheEncodingThatIsAskedFor: whoever takes both gets gzip, as before.
func TestAnswersAreInTheEncodingThatIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 30, Config{Loopback: true})
	f.run(t, 30)
	const target = "/v1/devices?format=jsonl&limit=1000"
	want := f.get(target).Body.String()
	for asked, encoding := range map[string]string{"zstd": "zstd", "gzip": "gzip", "gzip, deflate, br, zstd": "gzip",
		"gzip;q=0.5, zstd": "zstd", "br": ""} {
		w := f.get(target, "Accept-Encoding", asked)
		if got := w.Header().Get("Content-Encoding"); got != encoding {
			t.Errorf("%s: %q, want %q", asked, got, encoding)
		}
		if encoding == "zstd" {
			z := must.Have(zstd.NewReader(w.Body))(t)
			if got := must.Have(io.ReadAll(z))(t); string(got) != want {
				t.Errorf("%s: %d bytes, want %d", asked, len(got), len(want))
			}
			z.Close()
		}
	}
}

// TestRefusedMethodsNameThoseThatThereAre has addresses with one method and with several, and none.
func TestRefusedMethodsNameThoseThatThereAre(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Loopback: true})
	for asked, want := range map[string]string{
		"PUT /v1/devices/pump-7/commands":      "GET, HEAD, POST",
		"GET /v1/devices/pump-7/commands/7":    "DELETE",
		"POST /v1/devices/pump-7/commands/7":   "DELETE",
		"POST /v1/devices":                     "GET, HEAD",
		"GET /v1/incidents/hot~pump-7~0/ack":   "POST",
		"PATCH /v1/incidents/hot~pump-7~0/ack": "POST",
		"DELETE /v1/devices/pump-7/desired":    "GET, HEAD, PUT",
	} {
		method, target, _ := strings.Cut(asked, " ")
		w := d.do(method, target)
		if got := w.Header().Get("Allow"); w.Code != 405 || got != want || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, Allow: %s, want %s: %s", asked, w.Code, got, want, w.Body)
		}
	}
	if w := d.do("POST", "/v1/nothing"); w.Code == 405 {
		t.Errorf("what there is not is %d: %s", w.Code, w.Body)
	}
}
