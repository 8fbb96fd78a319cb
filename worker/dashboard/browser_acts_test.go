package dashboard

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// serveGuarded serves a dashboard that requires signing in, and returns its address without a slash at the end.
func serveGuarded(t *testing.T) (g *guarded, token, url string) {
	t.Helper()
	g = newGuarded(t, 4, Config{Loopback: true})
	token = g.add(t, "alice", schema.Operator, "")
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- (&Server{Dashboard: g.Dashboard, Listener: l}).Run(ctx) }()
	t.Cleanup(func() { stop(); must.Succeed(t, <-ended) })
	return g, token, "http://" + l.Addr().String()
}

func (b *browser) signsIn(token string) {
	b.t.Helper()
	b.sees("it asks to sign in", `document.querySelector("form.signin [name=token]")`)
	b.does(`document.querySelector("form.signin [name=token]").value = "` + token + `"`)
	b.clicks("form.signin button")
}

// TestBrowserSignsInAndRevokesADevice also ends the session under an open page.
func TestBrowserSignsInAndRevokesADevice(t *testing.T) {
	g, token, url := serveGuarded(t)
	b := newBrowser(t)
	b.signedOut = true
	b.open(url + "/devices/d0000?span=1h")
	b.signsIn(token)
	b.sees("the page that was asked for is shown", `location.pathname === "/devices/d0000" && location.search === "?span=1h" && `+
		`document.querySelector(".acts")`)
	b.clicks(`.acts a[href$="/revoke"]`)
	b.sees("it says what will happen", `document.querySelector("form.act").textContent.includes("gets no new tokens")`)
	if g.status(t, "d0000") != schema.Active {
		t.Error("it was revoked before it was confirmed")
	}
	b.clicks(`form.act button`)
	b.sees("it is done", `document.querySelector(".act[role=status]").textContent.includes("d0000 is revoked")`)
	if got := g.status(t, "d0000"); got != schema.Revoked {
		t.Errorf("the device is %s", got)
	}
	b.clicks(`.crumb a`)
	b.sees("the page of the device knows it", `byId("chips").textContent.includes("revoked") && `+
		`document.querySelector('.acts a[href$="/restore"]')`)

	b.open(url + "/#5/10/20")
	b.sees("the map is there", `location.hash.startsWith("#5") && byId("filter")`)
	g.sessions.mu.Lock()
	g.sessions.byID.Purge()
	g.sessions.mu.Unlock()
	b.does(`document.dispatchEvent(new Event("visibilitychange"))`)
	b.signsIn(token)
	b.sees("it leads back to the part of the map", `byId("filter") && location.hash.startsWith("#5")`)
}

// TestPagesOfActsAreUsableByEverybody looks for violations with axe-core, as TestPagesAreUsableByEverybody does.
func TestPagesOfActsAreUsableByEverybody(t *testing.T) {
	path := os.Getenv("FURROW_AXE")
	if path == "" {
		t.Skip("FURROW_AXE does not name axe.min.js; .ci/run installs it")
	}
	axe := must.Have(os.ReadFile(path))(t)
	g, token, url := serveGuarded(t)
	b := newBrowser(t)
	b.signedOut = true
	b.open(url + "/activity")
	b.signsIn(token)
	b.sees("it is signed in", `location.pathname === "/activity" && document.querySelector(".person")`)
	g.signIn(t, token).acts(t, "/devices/d0001/revoke", "how", "expiry")
	for _, width := range []int64{1440, 390} {
		b.must("resize", chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		for _, path := range []string{"/devices/d0000", "/devices/d0000/revoke", "/devices/d0001/restore",
			"/devices/d0000/release", "/devices/d0000/rewind", "/devices/d0000/rewind?to=-2d", "/pipelines/live/redrive",
			"/activity"} {
			for _, theme := range []string{"light", "dark"} {
				b.open(url + path)
				b.sees(path+" is there", `document.readyState === "complete" && document.querySelector(".person")`)
				b.does(`document.documentElement.dataset.theme = "` + theme + `"; dispatchEvent(new Event("theme"))`)
				b.sees(path+" fits", `document.documentElement.scrollWidth <= innerWidth`)
				b.does(string(axe) + `;window.violations = null; axe.run().then((found) => { window.violations = found.violations; })`)
				b.sees("axe is done", `window.violations !== null`)
				found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`window.violations.map((v) => v.id + ": " + `+
					`v.nodes.map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("; ")).join("\n")`))
				b.must("read what axe found", err)
				if found != "" {
					t.Errorf("%s, %d pixels wide, %s: %s", path, width, theme, found)
				}
			}
		}
	}
}
