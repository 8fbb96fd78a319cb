package dashboard

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/worker/dashboard/api"
)

func TestOnlyRequestsWithASecretAreLetIn(t *testing.T) {
	d := newDashboard(t, Config{Secrets: Secrets{Password: "correct horse", Token: "battery staple"}})
	basic := func(name, password string) string {
		r, _ := http.NewRequest("GET", "/", nil)
		r.SetBasicAuth(name, password)
		return r.Header.Get("Authorization")
	}
	for header, want := range map[string]int{
		"": 401, basic("", "correct horse"): 200, basic("anybody", "correct horse"): 200,
		"Bearer battery staple": 200, "bearer battery staple": 200,
		basic("correct horse", ""): 401, basic("x", "battery staple"): 401, "Bearer correct horse": 401,
		"Bearer": 401, "Bearer ": 401, basic("x", ""): 401, "nonsense": 401,
	} {
		d.tries = newTries(d.log)
		w := d.get("/openapi.json", "Authorization", header)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", header, w.Code, want)
		}
		if want == 401 {
			wantProblem(t, header, w, api.Unauthorized)
			if w.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%q: no scheme is named", header)
			}
		}
	}
	for _, target := range append(addresses(), "/v1/stream", "/nowhere") {
		if w := d.get(target); (w.Code == 401) == (target == "/healthz") {
			t.Errorf("%s without a secret: %d", target, w.Code)
		}
	}
}

func TestAnEmptySecretNeverMatches(t *testing.T) {
	for _, s := range []Secrets{{Password: "correct horse"}, {Token: "battery staple"}} {
		d := newDashboard(t, Config{Secrets: s})
		for _, header := range []string{"Bearer ", "Basic Og==", "Basic eDo="} {
			if w := d.get("/openapi.json", "Authorization", header); w.Code != 401 {
				t.Errorf("%+v lets in %q", s, header)
			}
		}
	}
}

// TestGuessesAreSlowedBeforeTheyAreLookedAt guesses at full speed for an hour, each time with another name.
func TestGuessesAreSlowedBeforeTheyAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		d := newDashboard(t, Config{Secrets: Secrets{Token: "battery staple"}})
		d.tries.log = slog.New(slog.NewTextHandler(&log, nil))
		looked := 0
		for n := range 3600 {
			basic := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "name%d:guess%d", n, n))
			switch w := d.get("/openapi.json", "Authorization", "Basic "+basic); w.Code {
			case 401:
				looked++
			case 429:
				if after, err := strconv.Atoi(w.Header().Get("Retry-After")); err != nil || after > 30 {
					t.Fatalf("guess %d has to wait for %q s", n, w.Header().Get("Retry-After"))
				}
			default:
				t.Fatalf("guess %d: %d", n, w.Code)
			}
			time.Sleep(time.Second)
		}
		if looked < 100 || looked > 140 {
			t.Errorf("%d guesses were looked at", looked)
		}
		if lines := strings.Count(log.String(), "authentication failed"); lines > 61 || lines < 59 ||
			!strings.Contains(log.String(), "times=60") {
			t.Errorf("%d lines of log", lines)
		}
		// Who comes from the same address waits for half a minute at most, and later not at all.
		right := func() int { return d.get("/openapi.json", "Authorization", "Bearer battery staple").Code }
		time.Sleep(maxDelay)
		if code := right(); code != 200 {
			t.Errorf("the right token: %d", code)
		}
		for range 20 {
			d.get("/openapi.json", "Authorization", "Bearer wrong")
		}
		if code := right(); code != 200 {
			t.Errorf("the right token again: %d", code)
		}
		time.Sleep(maxDelay + tryWindow + time.Second)
		if w := d.get("/openapi.json", "Authorization", "Bearer wrong"); w.Code != 401 {
			t.Errorf("later, a wrong token: %d", w.Code)
		}
	})
}

// TestGuessesAreSlowedWhileStorageIsDown: nobody then knows whether a secret is somebody's token, but it is wrong as a
// password.
func TestGuessesAreSlowedWhileStorageIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := &accessRow{}
		row.down.Store(true)
		for secrets, want := range map[Secrets]int{{Password: "correct horse"}: freeTries + 1, {}: 50} {
			d := newDashboard(t, Config{Secrets: secrets, Access: row.directory(t)})
			looked := 0
			for n := range 50 {
				if d.get("/openapi.json", "Authorization", fmt.Sprint("Bearer guess", n)).Code != 429 {
					looked++
				}
			}
			if looked != want {
				t.Errorf("with %+v, %d of 50 guesses are looked at; want %d", secrets, looked, want)
			}
		}
	})
}

// TestTokensAreNoGuessesWhileStorageIsDown: a program polls with its token, and then somebody with the password comes
// from the same address. They are guesses where a password looks like a token.
func TestTokensAreNoGuessesWhileStorageIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for password, want := range map[string]int{"correct horse": 200, "furrow_horse": 429} {
			row := &accessRow{}
			row.down.Store(true)
			d := newDashboard(t, Config{Secrets: Secrets{Password: password}, Access: row.directory(t)})
			for range 30 {
				d.get("/openapi.json", "Authorization", "Bearer furrow_token")
			}
			basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+password))
			if code := d.get("/openapi.json", "Authorization", basic).Code; code != want {
				t.Errorf("the password %s: %d, want %d", password, code, want)
			}
		}
	})
}

// TestGuessesThatWaitReadNothing guesses tokens for some minutes. The copy of the table of access is read every few
// seconds for everybody, and again for a guess only if that is looked at.
func TestGuessesThatWaitReadNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := &accessRow{token: "furrow_token"}
		d := newDashboard(t, Config{Access: row.directory(t)})
		const seconds = 300
		for n := range seconds {
			d.get("/openapi.json", "Authorization", fmt.Sprint("Bearer guess", n))
			time.Sleep(time.Second)
		}
		if asked := row.asked.Load(); asked > seconds*2/5 {
			t.Errorf("%d reads in %d seconds", asked, seconds)
		}
		if code := d.get("/openapi.json", "Authorization", "Bearer furrow_token").Code; code != 200 {
			t.Errorf("the right token: %d", code)
		}
	})
}

// TestGuessesAtOnceCountEach sends many before the first is answered.
func TestGuessesAtOnceCountEach(t *testing.T) {
	all, now, passed := newTries(slog.Default()), time.Now(), 0
	for i := range 100 {
		if counted, _ := all.begin(originOf(netip.MustParseAddr("10.0.0.1")), fmt.Sprint(i), now); counted {
			passed++
		}
	}
	if passed != freeTries+1 {
		t.Errorf("%d are looked at", passed)
	}
}

// TestNetworkGuessesNoMoreThanItsTries has each guess from another /64 of a /48.
func TestNetworkGuessesNoMoreThanItsTries(t *testing.T) {
	all, now, passed := newTries(slog.Default()), time.Now(), 0
	for i := range 1000 {
		from := originOf(netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", i)))
		if counted, _ := all.begin(from, fmt.Sprint(i), now); counted {
			passed++
		}
	}
	if passed != wideTries+1 {
		t.Errorf("%d are looked at", passed)
	}
	if counted, _ := all.begin(originOf(netip.MustParseAddr("2001:db8:1::1")), "x", now); !counted {
		t.Error("another network has to wait")
	}
}

func TestTriesAreCountedByNetworkInBoundedMemory(t *testing.T) {
	all := newTries(slog.Default())
	for i := range maxSources + 50 {
		all.begin(originOf(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})), "x", time.Now())
	}
	if n := all.bySource.Len(); n > maxSources {
		t.Errorf("%d sources are remembered", n)
	}
}

func TestSourcesAreNetworks(t *testing.T) {
	d := newDashboard(t, Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	source := func(remote, forwarded string) string {
		r, _ := http.NewRequest("GET", "/", nil)
		if r.RemoteAddr = remote; forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		return fmt.Sprint(d.origin(r))
	}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"[2001:db8::2:3]:6", "", "[2001:db8::/64 2001:db8::/48]"},
		{"[2001:db8:0:1::1]:5", "", "[2001:db8:0:1::/64 2001:db8::/48]"},
		{"[::ffff:10.0.0.1]:1", "", "[10.0.0.1/32]"},
		{"10.0.0.1:1", "192.0.2.1", "[10.0.0.1/32]"}, // it is no proxy
		{"10.1.0.1:1", "", "[10.1.0.1/32]"},
		{"10.1.0.1:1", "192.0.2.1", "[192.0.2.1/32]"},
		{"10.1.0.1:1", "203.0.113.9, 192.0.2.1, 10.1.0.2", "[192.0.2.1/32]"},
		{"10.1.0.1:1", "192.0.2.1, nonsense", "[10.1.0.1/32]"},
	} {
		if got := source(c.remote, c.forwarded); got != c.want {
			t.Errorf("%s for %q is %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

// TestOtherHostNamesAreRefusedOnLoopback is about DNS rebinding.
// TestNobodyEndsTheSessionsOfOthers by signing in more often than there are sessions.
func TestNobodyEndsTheSessionsOfOthers(t *testing.T) {
	s := newSessions(false)
	begin := func(name string) *http.Request {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		s.begin(w, identity{name: name})
		r.AddCookie(w.Result().Cookies()[0])
		return r
	}
	ann, first := begin("ann"), begin("bob")
	for range 2 * maxSessions / ownSessions {
		begin("bob")
	}
	if _, is := s.sessionOf(ann); !is || s.byID.Len() != 1+ownSessions {
		t.Errorf("ann is signed in: %v; there are %d sessions", is, s.byID.Len())
	}
	if _, is := s.sessionOf(first); is {
		t.Error("bob's first session has not ended")
	}
}

func TestOtherHostNamesAreRefusedOnLoopback(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Loopback: true})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:1": 200, "127.0.0.1:10090": 200, "[::1]:80": 200, "[::1]": 200, "127.8.8.8": 200,
		"evil.example": 421, "evil.example:10090": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "": 421,
		"127.0.0.1.nip.io": 421, "0.0.0.0": 421,
	} {
		w := d.get("/openapi.json", "Host", host)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
		if want == 421 {
			wantProblem(t, host, w, api.WrongHost)
		}
	}
	open := newDashboard(t, Config{Secrets: Secrets{Token: "battery staple"}})
	if w := open.get("/openapi.json", "Host", "fleet.example", "Authorization", "Bearer battery staple"); w.Code != 200 {
		t.Errorf("with a secret, every host name is allowed: %d", w.Code)
	}
}

func TestOnlyGETAndHEADAreAllowed(t *testing.T) {
	d := newDashboard(t, Config{Loopback: true})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"} {
		w := d.do(method, "/v1/devices/d0001")
		wantProblem(t, method, w, api.MethodNotAllowed)
		if w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: Allow is %q", method, w.Header().Get("Allow"))
		}
	}
}

func TestShortSecretsAreRefused(t *testing.T) {
	for s, ok := range map[Secrets]bool{
		{}: true, {Password: "12345678901"}: false, {Token: "short"}: false,
		{Password: "123456789012", Token: "123456789012"}: true,
	} {
		if err := s.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestOtherSitesAskNothingOfAnOpenDashboard: whatever page is open in a browser on this machine could.
func TestOtherSitesAskNothingOfAnOpenDashboard(t *testing.T) {
	d := newDashboard(t, Config{Loopback: true})
	for _, c := range []struct {
		want    int
		headers []string
	}{
		{200, nil},
		{200, []string{"Sec-Fetch-Site", "none"}},
		{200, []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors"}},
		{200, []string{"Origin", "http://localhost:10090"}},
		{200, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
		{403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}},
		{403, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}},
		{403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}},
		{403, []string{"Origin", "http://evil.example"}},
		{403, []string{"Origin", "null"}},
		{403, []string{"Sec-Fetch-Site", "nonsense"}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := d.do(method, "/openapi.json", append([]string{"Host", "localhost:10090"}, c.headers...)...)
			if w.Code != c.want && !(method == "HEAD" && slices.Contains(c.headers, "document")) {
				t.Errorf("%s with %q: %d, want %d", method, c.headers, w.Code, c.want)
			}
		}
	}
}

// TestOutageCountsAsNoGuess: while access cannot be read, nobody knows whether a secret is right.
func TestOutageCountsAsNoGuess(t *testing.T) {
	all, from, now := newTries(slog.Default()), originOf(netip.MustParseAddr("10.0.0.1")), time.Now()
	for i := range 5 * freeTries {
		if _, wait := all.begin(from, "secret", now); wait > 0 {
			t.Fatalf("try %d has to wait for %v", i, wait)
		}
		all.notWrong(from, "secret", false)
	}
}
