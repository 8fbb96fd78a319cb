package dashboard

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

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
	t.Parallel()
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
		t.Skip("FURROW_AXE does not name axe.min.js; .ci/long pages installs it")
	}
	axe := must.Have(os.ReadFile(path))(t)
	g, token, url := serveGuarded(t)
	b := newBrowser(t)
	b.signedOut = true
	b.open(url + "/activity")
	b.signsIn(token)
	b.sees("it is signed in", `location.pathname === "/activity" && document.querySelector(".person")`)
	g.signIn(t, token).acts(t, "/devices/d0001/revoke", "how", "expiry")
	past := g.Opens(t, "silent", "d0000", time.Now().Add(-2*time.Hour), "info")
	g.Closes(t, past, time.Now().Add(-time.Hour))
	g.Opens(t, "left-open", "d0001", time.Now().Add(-time.Hour), "warning")
	incident := "/incidents/" + g.Opens(t, "hot", "d0000", time.Now().Add(-time.Minute), "critical").ID.String()
	g.signIn(t, token).acts(t, incident+"/note", "text", "the fan was off")
	g.waitForIncidents(t, 2)
	order := g.withToldDevice(t, "d0003")
	for _, width := range []int64{1440, 390} {
		b.must("resize", chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		for _, path := range []string{"/devices/d0000", "/devices/d0000/revoke", "/devices/d0001/restore",
			"/devices/d0000/release", "/devices/d0000/rewind", "/devices/d0000/rewind?to=-2d", "/pipelines/live/redrive",
			"/activity", "/", "/devices", "/incidents", "/incidents?state=open,acknowledged,closed", "/incidents?rule=none",
			"/devices/d0003", "/devices/d0003/command", "/devices/d0003/desired",
			"/devices/d0003/commands/" + order + "/cancel", incident, incident + "/ack",
			incident + "/note", incident + "/mute"} {
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

// TestBrowserFollowsAnIncident sees it open on the first page, acknowledges it, mutes its rule, and sees it close.
func TestBrowserFollowsAnIncident(t *testing.T) {
	t.Parallel()
	g, token, url := serveGuarded(t)
	b := newBrowser(t)
	b.signedOut = true
	b.open(url + "/")
	b.signsIn(token)
	b.sees("nothing is open", `byId("incidents").textContent.includes("No open incidents")`)
	hot := g.Opens(t, "hot", "d0000", time.Now().Add(-5*time.Minute), "critical")
	again := `(document.dispatchEvent(new Event("visibilitychange")), `
	b.sees("it appears by itself", again+`byId("incidents").textContent.includes("1 critical"))`)
	b.sees("its device has a shape in the list", `document.querySelector('[data-key=d0000] .glyph.critical')`)
	b.clicks(`#incidents li a`)
	b.sees("its page opens", `document.querySelector("h1").textContent === "hot of d0000" && `+
		`byId("transitions").textContent.includes("195")`)
	b.clicks(`.acts a[href$="/ack"]`)
	b.sees("it says what will happen", `document.querySelector("form.act").textContent.includes("you take care of it")`)
	b.does(`document.querySelector("form.act textarea").value = "on my way"`)
	b.clicks(`form.act button`)
	b.sees("it is done", `document.querySelector(".act[role=status]").textContent.includes("is acknowledged")`)
	b.clicks(`.crumb a`)
	b.sees("the page knows it", `byId("chips").textContent.includes("acknowledged") && `+
		`byId("notes").textContent.includes("on my way") && byId("notes").textContent.includes("alice")`)
	b.clicks(`.acts a[href$="/mute"]`)
	b.sees("it asks what to mute", `document.querySelectorAll("form.act [name=how]").length === 4`)
	b.clicks(`form.act [value=rule]`)
	b.clicks(`form.act button`)
	b.sees("it is muted", `document.querySelector(".act[role=status]").textContent.includes("rule hot")`)
	b.open(url + "/incidents")
	b.sees("the list has it", again+`document.querySelector("#rows tbody tr").textContent.includes("acknowledged muted"))`)
	b.open(url + "/devices/d0000?span=1h")
	b.sees("the chart of the device has a band and a symbol", `document.querySelector("svg.wide .incident.critical .area") && `+
		`document.querySelector("svg.wide .incident use[href='#i-critical']")`)
	g.Closes(t, hot, time.Now())
	b.open(url + "/incidents")
	b.sees("it is gone", again+`byId("rows").textContent.includes("No open incidents"))`)
	b.does(`document.querySelector("[name=state]").value = "closed"; document.querySelector("form.filter").requestSubmit()`)
	b.sees("closed ones have it", `location.search.includes("state=closed") && byId("rows").textContent.includes("hot")`)
	var what []string
	for _, act := range g.logged(t) {
		what = append(what, act.Who+" "+act.What)
	}
	if len(what) != 2 || what[0] != "alice mute add" || what[1] != "alice incident ack" {
		t.Errorf("the log has %v", what)
	}
}
