package dashboard

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/dashboard/web"
)

// A guarded fixture is a fleet whose dashboard requires signing in. Its devices with odd numbers are fabrikam's.
type guarded struct {
	*fixture
	store access.Store
}

func newGuarded(t testing.TB, n int, c Config) *guarded {
	t.Helper()
	fleet := modeltest.New(t, azuretest.Local(t))
	fleet.Grow(t, n)
	g := &guarded{store: access.NewStore(fleet.Client, fleet.Names)}
	c.Access, c.Activity = &access.Directory{Store: g.store}, access.NewLog(fleet.Client, fleet.Names)
	g.fixture = over(t, fleet, c, retaining(), archiving())
	return g
}

func (g *guarded) add(t testing.TB, name string, role schema.Role, tenant schema.Tenant) (token string) {
	t.Helper()
	token = must.Have(g.store.Add(t.Context(), schema.Access{Name: name, Role: role, Tenant: tenant}))(t)
	g.c.Access = &access.Directory{Store: g.store} // or it would look again only after a second
	return token
}

// A visitor is a browser that has signed in.
type visitor struct {
	d      *Dashboard
	cookie string
	token  string
}

func (g *guarded) signIn(t testing.TB, token string) visitor {
	t.Helper()
	w := g.postForm("/sign-in", "", "token", token, "to", "/devices")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/devices" || len(w.Result().Cookies()) == 0 {
		t.Fatalf("signing in: %d %s", w.Code, w.Body)
	}
	c := w.Result().Cookies()[len(w.Result().Cookies())-1]
	return visitor{g.Dashboard, c.Name + "=" + c.Value, token}
}

func (v visitor) get(target string) *httptest.ResponseRecorder {
	return v.d.get(target, "Cookie", v.cookie)
}

// post sends a form as a page of this visitor would.
func (v visitor) post(target string, fields ...string) *httptest.ResponseRecorder {
	return v.d.postForm(target, v.cookie, append(fields, "form", v.form())...)
}

func (v visitor) form() string {
	page := v.get("/activity").Body.String()
	found := regexp.MustCompile(`name="form" value="(\w+)"`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

func (d *Dashboard) postForm(target, cookie string, fields ...string) *httptest.ResponseRecorder {
	values := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", target, strings.NewReader(values.Encode()))
	r.Host = "127.0.0.1:10090"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:10090")
	r.Header.Set("Cookie", cookie)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	token := g.add(t, "alice", schema.Viewer, "")
	v, other := g.signIn(t, token), g.signIn(t, token)
	if v.cookie == other.cookie {
		t.Error("two sessions have one cookie")
	}
	for _, one := range []visitor{v, other} {
		if w := one.get("/openapi.json"); w.Code != 200 {
			t.Fatalf("after signing in: %d %s", w.Code, w.Body)
		}
	}
	if w := v.post("/sign-out"); w.Code != http.StatusSeeOther {
		t.Errorf("signing out: %d %s", w.Code, w.Body)
	}
	if w := v.get("/openapi.json"); w.Code != 401 {
		t.Errorf("after signing out: %d", w.Code)
	}
	if w := other.get("/openapi.json"); w.Code != 200 {
		t.Errorf("the other session of the same person: %d", w.Code)
	}
	for id, s := range map[string]session{strings.TrimPrefix(other.cookie, "furrow="): {}} {
		s, _ = g.sessions.byID.Get(id)
		s.ends = time.Now()
		g.sessions.byID.Add(id, s)
	}
	if w := other.get("/openapi.json"); w.Code != 401 {
		t.Errorf("after %v: %d", sessionLife, w.Code)
	}
}

func TestCookieIsForThisSiteAlone(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		g := newGuarded(t, 2, Config{Secure: secure})
		w := g.postForm("/sign-in", "", "token", g.add(t, "alice", schema.Viewer, ""))
		c := w.Result().Cookies()[0]
		if !c.HttpOnly || c.Secure != secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" ||
			strings.HasPrefix(c.Name, "__Host-") != secure {
			t.Errorf("over TLS %v: %s", secure, c)
		}
	}
}

// TestRemovedAccessEndsSessionsAndTokens makes the directory read again, as it does by itself after access.Recent.
func TestRemovedAccessEndsSessionsAndTokens(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.add(t, "root", schema.Admin, "")
	token := g.add(t, "alice", schema.Viewer, "")
	v := g.signIn(t, token)
	_ = must.Have(g.store.Remove(t.Context(), "alice"))(t)
	g.c.Access = &access.Directory{Store: g.store}
	if w := v.get("/openapi.json"); w.Code != 401 {
		t.Errorf("the session: %d", w.Code)
	}
	if w := g.get("/openapi.json", "Authorization", "Bearer "+token); w.Code != 401 {
		t.Errorf("the token: %d", w.Code)
	}
}

// TestGuesserDelaysNoTokenOfAccess that has never been seen before, from the same address.
func TestGuesserDelaysNoTokenOfAccess(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true, Secrets: Secrets{Password: "battery staple"}})
	token := g.add(t, "alice", schema.Viewer, "")
	for i := range 10 * freeTries {
		g.get("/openapi.json", "Authorization", "Bearer wrong"+strconv.Itoa(i))
	}
	if w := g.get("/openapi.json", "Authorization", "Bearer one more"); w.Code != 429 {
		t.Errorf("a guess: %d", w.Code)
	}
	if w := g.get("/openapi.json", "Authorization", "Bearer "+token); w.Code != 200 {
		t.Errorf("a token of access: %d", w.Code)
	}
}

func TestNothingIsToldBeforeSigningIn(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Config: web.Config{Storage: "https://acct.table.core.windows.net", Version: "v1.2.3"},
		Secrets: Secrets{Password: "correct horse"}})
	g.add(t, "alice@contoso.example", schema.Viewer, "")
	for _, target := range append(addresses(), "/nowhere", "/sign-in", "/sign-in?x=1", "/v1/nowhere", "/static/none") {
		for _, header := range []string{"", "Bearer wrong", "Basic YWxpY2U6d3Jvbmc="} {
			g.tries = newTries(g.log)
			w := g.get(target, "Authorization", header)
			for _, secret := range []string{"acct", "v1.2.3", "contoso.", "fabrikam", "alice", "d0001<", "temperature<"} {
				if target != "/openapi.json" && strings.Contains(w.Body.String(), secret) {
					t.Errorf("%s with %q tells %s", target, header, secret)
				}
			}
			if public(strings.Split(target, "?")[0]) == (w.Code == 401) {
				t.Errorf("%s with %q: %d", target, header, w.Code)
			}
		}
	}
	page := g.get("/devices?state=held").Body.String()
	if !strings.Contains(page, `name="to" value="/devices?state=held"`) || !strings.Contains(page, `action="/sign-in"`) {
		t.Errorf("in place of a page comes %s", page)
	}
	wrong := g.postForm("/sign-in", "", "token", "wrong", "to", "/devices")
	if wrong.Code != 401 || strings.Count(wrong.Body.String(), "<h1") != 1 || !strings.Contains(wrong.Body.String(),
		"is wrong") {
		t.Errorf("a wrong token: %d %s", wrong.Code, wrong.Body)
	}
}

func TestSigningInLeadsNowhereElse(t *testing.T) {
	for to, want := range map[string]string{"/devices?x=1": "/devices?x=1", "": "/", "//evil.example": "/",
		"https://evil.example": "/", `/\evil.example`: "/", "/\n/evil.example": "/", "devices": "/"} {
		if got := local(to); got != want {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	token := g.add(t, "alice", schema.Admin, "")
	v, other := g.signIn(t, token), g.signIn(t, token)
	send := func(headers map[string]string, form string) int {
		r := httptest.NewRequest("POST", "/sign-out", strings.NewReader(url.Values{"form": {form}}.Encode()))
		r.Host = "127.0.0.1:10090"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", v.cookie)
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w.Code
	}
	here := map[string]string{"Origin": "http://127.0.0.1:10090"}
	for _, c := range []struct {
		headers map[string]string
		form    string
	}{
		{nil, v.form()}, {map[string]string{"Origin": "http://evil.example"}, v.form()}, {map[string]string{"Origin": "null"},
			v.form()},
		{map[string]string{"Origin": "http://127.0.0.1:10090", "Sec-Fetch-Site": "cross-site"}, v.form()},
		{map[string]string{"Sec-Fetch-Site": "same-site"}, v.form()},
		{here, ""}, {here, other.form()}, {here, v.form() + "0"},
	} {
		if code := send(c.headers, c.form); code != 403 {
			t.Errorf("%v with %q: %d", c.headers, c.form, code)
		}
	}
	if w := g.postForm("/sign-out", "", "form", v.form()); w.Code != 401 {
		t.Errorf("without a session: %d", w.Code)
	}
	if w := v.get("/openapi.json"); w.Code != 200 {
		t.Errorf("a refused form has ended the session: %d", w.Code)
	}
	if code := send(map[string]string{"Sec-Fetch-Site": "same-origin"}, v.form()); code != http.StatusSeeOther {
		t.Errorf("the form of the own page: %d", code)
	}
}

func TestOnlyTheStatedProxyNamesPeople(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true, TrustHeader: "X-User",
		Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	g.add(t, "alice", schema.Viewer, "contoso")
	for _, c := range []struct {
		from, name string
		want       int
	}{{"192.0.2.7:1", "alice", 200}, {"192.0.2.7:1", "bob", 403}, {"192.0.2.7:1", "", 401}, {"198.51.100.1:1", "alice",
		401}} {
		r := httptest.NewRequest("GET", "/v1/tenants", nil)
		r.RemoteAddr = c.from
		r.Header.Set("X-User", c.name)
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != c.want || strings.Contains(w.Body.String(), "fabrikam") {
			t.Errorf("%q from %s: %d %s", c.name, c.from, w.Code, w.Body)
		}
	}
}

func TestAccessToAnybodyEndsLookingWithoutSigningIn(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	if w := g.get("/openapi.json"); w.Code != 200 {
		t.Errorf("before: %d", w.Code)
	}
	g.add(t, "alice", schema.Viewer, "")
	wantProblem(t, "afterwards", g.get("/openapi.json"), api.Unauthorized)
	for _, bad := range []string{"", "furrow=x", "furrow="} {
		if w := g.get("/openapi.json", "Cookie", bad); w.Code != 401 {
			t.Errorf("cookie %q: %d", bad, w.Code)
		}
	}
}
