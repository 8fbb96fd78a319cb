package dashboard

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest"
	"furrow/worker/dashboard/model/modeltest"
)

func TestOnlyWhoHasASecretIsLetIn(t *testing.T) {
	h := newHouse(t, modeltest.New(t, azuretest.Local(t)), Config{Secrets: Secrets{Password: "correct horse", Token: "battery staple"}})
	basic := func(name, password string) string {
		r, _ := http.NewRequest("GET", "/", nil)
		r.SetBasicAuth(name, password)
		return r.Header.Get("Authorization")
	}
	for header, want := range map[string]int{
		"": 401, basic("", "correct horse"): 200, basic("anybody", "correct horse"): 200, "Bearer battery staple": 200, "bearer battery staple": 200,
		basic("correct horse", ""): 401, basic("x", "battery staple"): 401, "Bearer correct horse": 401, "Bearer": 401, "Bearer ": 401, basic("x", ""): 401, "nonsense": 401,
	} {
		h.tries = tries{}
		w := h.ask("GET", "/openapi.json", "Authorization", header)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", header, w.Code, want)
		}
		if want == 401 {
			wantProblem(t, header, w, Unauthorized)
			if w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%q is not asked for a password", header)
			}
		}
	}
	for _, target := range append(everything(), "/static/x/furrow.css", "/v1/stream") {
		h.tries = tries{}
		if w := h.ask("GET", target); (w.Code == 401) == (target == "/healthz") {
			t.Errorf("%s of a stranger: %d", target, w.Code)
		}
	}
}

func TestOneSecretAloneLetsNobodyInWithNone(t *testing.T) {
	for _, s := range []Secrets{{Password: "correct horse"}, {Token: "battery staple"}} {
		h := newHouse(t, modeltest.New(t, azuretest.Local(t)), Config{Secrets: s})
		for _, header := range []string{"Bearer ", "Basic Og==", "Basic eDo="} {
			if w := h.ask("GET", "/openapi.json", "Authorization", header); w.Code != 401 {
				t.Errorf("%+v: %q is let in", s, header)
			}
		}
	}
}

func TestTriesAreLimitedAndForgotten(t *testing.T) {
	y := modeltest.New(t, azuretest.Local(t))
	h := newHouse(t, y, Config{Secrets: Secrets{Token: "battery staple"}})
	synctest.Test(t, func(t *testing.T) {
		for range mostTries {
			wantProblem(t, "a wrong token", h.ask("GET", "/openapi.json", "Authorization", "Bearer wrong"), Unauthorized)
		}
		w := h.ask("GET", "/openapi.json", "Authorization", "Bearer battery staple")
		wantProblem(t, "one too many", w, TooManyRequests)
		if w.Header().Get("Retry-After") == "" {
			t.Error("it does not say when to come back")
		}
		if w := h.ask("GET", "/openapi.json"); w.Code != 401 {
			t.Errorf("who tries nothing: %d", w.Code)
		}
		time.Sleep(triesFor + time.Second)
		if w := h.ask("GET", "/openapi.json", "Authorization", "Bearer battery staple"); w.Code != 200 {
			t.Errorf("later: %d", w.Code)
		}
	})
}

func TestTriesAreCountedByAddressInBoundedMemory(t *testing.T) {
	var all tries
	now := time.Now()
	for i := range mostFrom + 50 {
		all.failed(sourceOf(string([]byte{'1', '0', '.'})+itoa(i>>16)+"."+itoa(i>>8&255)+"."+itoa(i&255)+":99"), now)
	}
	if len(all.by) > mostFrom {
		t.Errorf("%d are remembered", len(all.by))
	}
	if sourceOf("[2001:db8::1]:5") != sourceOf("[2001:db8::2:3]:6") || sourceOf("[2001:db8:1::1]:5") == sourceOf("[2001:db8:2::1]:5") || sourceOf("10.0.0.1:1") == sourceOf("10.0.0.2:1") {
		t.Error("networks are not told apart as they should be")
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + string(rune('0'+i%10))
}

// TestOtherHostsAreRefusedOnLoopback is against pages elsewhere that have their name
// lead here.
func TestOtherHostsAreRefusedOnLoopback(t *testing.T) {
	y := modeltest.New(t, azuretest.Local(t))
	h := newHouse(t, y, Config{Loopback: true})
	for host, want := range map[string]int{"localhost": 200, "LOCALHOST:1": 200, "127.0.0.1:10090": 200, "[::1]:80": 200, "[::1]": 200, "127.8.8.8": 200,
		"evil.example": 421, "evil.example:10090": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "": 421, "127.0.0.1.nip.io": 421, "0.0.0.0": 421} {
		w := h.ask("GET", "/openapi.json", "Host", host)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
		if want == 421 {
			wantProblem(t, host, w, WrongHost)
		}
	}
	open := newHouse(t, y, Config{Secrets: Secrets{Token: "battery staple"}})
	if w := open.ask("GET", "/openapi.json", "Host", "fleet.example", "Authorization", "Bearer battery staple"); w.Code != 200 {
		t.Errorf("elsewhere a name is refused: %d", w.Code)
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	h := newHouse(t, modeltest.New(t, azuretest.Local(t)), Config{Loopback: true})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"} {
		w := h.ask(method, "/v1/devices/d0001")
		wantProblem(t, method, w, MethodNotAllowed)
		if w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", method, w.Header().Get("Allow"))
		}
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	for s, ok := range map[Secrets]bool{{}: true, {Password: "12345678901"}: false, {Token: "short"}: false, {Password: "123456789012", Token: "123456789012"}: true} {
		if err := s.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
