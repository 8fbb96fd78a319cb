package dashboard

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
)

// TestEveryAddressAnswers holds what all answers have in common.
func TestEveryAddressAnswers(t *testing.T) {
	h := opened(t, grown(t, 12), Config{Loopback: true, Storage: "https://acct.table.core.windows.net", Version: "v1"})
	h.settle(t, 12)
	for _, target := range everything() {
		w := h.ask("GET", target)
		page := !isData(strings.Split(target, "?")[0])
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		if page != strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s is %s", target, w.Header().Get("Content-Type"))
		}
		if !page && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s is no JSON: %s", target, w.Body)
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'"} {
			if got := w.Header().Get(header); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q", target, header, got)
			}
		}
		if cached := w.Header().Get("Cache-Control"); cached == "" || strings.Contains(cached, "public") {
			t.Errorf("%s: Cache-Control is %q", target, cached)
		}
		if head := h.ask("HEAD", target); head.Code != 200 || head.Body.Len() > 0 {
			t.Errorf("HEAD %s: %d, and %d bytes", target, head.Code, head.Body.Len())
		}
	}
	for _, target := range []string{"/v1/map", "/devices/d0001", "/v1/devices", "/openapi.json"} {
		w := h.ask("GET", target, "Accept-Encoding", "br, gzip")
		z, err := gzip.NewReader(w.Body)
		if err != nil || w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s is not compressed: %v, %v", target, err, w.Header())
			continue
		}
		if plain, err := io.ReadAll(z); err != nil || len(plain) < 1000 {
			t.Errorf("%s: %d bytes, %v", target, len(plain), err)
		}
	}
	tag := h.ask("GET", "/openapi.json").Header().Get("ETag")
	if w := h.ask("GET", "/openapi.json", "If-None-Match", `"x", `+tag); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("what is there already: %d, and %d bytes", w.Code, w.Body.Len())
	}
	if w := h.ask("GET", "/openapi.json", "If-None-Match", `"x"`); w.Code != 200 {
		t.Errorf("what is not there: %d", w.Code)
	}
}

// TestPagesCostTheSameForAFleetOfEightTimesTheSize counts at the transport what each
// page takes when nobody has asked before, and compares it with what its foot says.
func TestPagesCostTheSameForAFleetOfEightTimesTheSize(t *testing.T) {
	for _, n := range []int{6, 48} {
		y := grown(t, n)
		for target, most := range map[string]int{
			"/v1/devices/d0001": 1 + 3 + 2, "/v1/devices/d0001/series?span=1h&sensor=temperature": 1 + 1, "/v1/devices/d0001/series?span=7d&sensor=temperature": 1 + 1 + 9,
			"/v1/devices/d0001/series?span=1y&sensor=temperature": 1 + 1 + 3, "/v1/devices/d0001/series?span=1y": 1 + 3 + 2 + 1 + 3,
			"/devices/d0001": 1 + 3 + 2 + 4, "/v1/pipelines": 2 + 3, "/pipelines": 2 + 3,
		} {
			// A dashboard that nobody has asked, and that does nothing in the background.
			h := newHouse(t, y, Config{Loopback: true})
			y.Requests()
			w := h.ask("GET", target)
			if got := y.Requests(); w.Code != 200 || got > most || got == 0 {
				t.Errorf("%s of %d devices: %d, %d requests, want at most %d", target, n, w.Code, got, most)
			} else if said := operations(w.Body.Bytes()); strings.HasPrefix(target, "/v1/") && said != got {
				t.Errorf("%s says it took %d, and it was %d", target, said, got)
			}
			if w := h.ask("GET", target); w.Code != 200 || strings.HasPrefix(target, "/v1/devices/d0001/") {
				continue // a chart until now is another a second later
			}
			if got := y.Requests(); got > most/2 {
				t.Errorf("%s again: %d requests", target, got)
			}
		}
	}
}

func operations(body []byte) int {
	var a struct{ Operations int }
	if json.Unmarshal(body, &a) != nil {
		return -1
	}
	return a.Operations
}

func TestOperationsAreInTheFoot(t *testing.T) {
	y := grown(t, 3)
	h := newHouse(t, y, Config{Loopback: true, Storage: "https://acct.table.core.windows.net"})
	y.Requests()
	page := h.ask("GET", "/pipelines").Body.String()
	if foot := page[strings.LastIndex(page, "<footer"):]; !strings.Contains(foot, strconv.Itoa(y.Requests())) || !strings.Contains(foot, "acct.table") {
		t.Errorf("the foot is %s", foot)
	}
}

// TestPagesSayThatStorageIsAwayAndGoOn looks while storage refuses everything.
func TestPagesSayThatStorageIsAwayAndGoOn(t *testing.T) {
	y := grown(t, 5)
	h := opened(t, y, Config{Loopback: true})
	h.settle(t, 5)
	y.Away(true)
	for target, want := range map[string]int{"/": 200, "/devices": 200, "/v1/map": 200, "/v1/devices": 200, "/devices/d0001": 503, "/pipelines": 503, "/v1/pipelines": 503, "/v1/devices/d0001": 503, "/tenants/contoso": 503, "/healthz": 200} {
		w := h.ask("GET", target)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
		if want == 503 && !strings.HasPrefix(target, "/v1/") && (!strings.Contains(w.Body.String(), "Storage") || w.Header().Get("Retry-After") == "") {
			t.Errorf("%s does not say why: %s", target, w.Body)
		}
	}
	wantProblem(t, "while storage is away", h.ask("GET", "/v1/pipelines"), StorageAway)
	y.Away(false)
	if w := h.ask("GET", "/devices/d0001"); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

func TestWhatIsNotThereIsSaidInTheLanguageOfWhoAsks(t *testing.T) {
	h := opened(t, grown(t, 2), Config{Loopback: true})
	h.settle(t, 2)
	for _, target := range []string{"/nowhere", "/devices/nobody", "/tenants/nobody"} {
		if w := h.ask("GET", target); w.Code != 404 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", target, w.Code, w.Header().Get("Content-Type"))
		}
	}
	for _, target := range []string{"/v1/nowhere", "/v1/devices/nobody", "/v1/devices/nobody/series", "/v1/tenants/nobody/day"} {
		wantProblem(t, target, h.ask("GET", target), NotFound)
	}
}
