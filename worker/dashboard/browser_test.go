package dashboard

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestBrowserSeesTheFleet clicks through all pages in a real browser. Values on the map's list and on a
// device's page change without a reload.
func TestBrowserSeesTheFleet(t *testing.T) {
	t.Parallel()
	f := newProbeFleet(t, 60) // started before the browser, so stopped after it: servers wait for connections
	b := newBrowser(t)
	device := f.id(7)

	b.open(f.url)
	b.sees("all devices are in view", `byId("inview").textContent === "60" && byId("live").dataset.state === "live"`)
	b.sees("the list has them", `byId("rows").rows.length === 50 && !byId("more").hidden`)
	b.sees("the sea, the land and the marks are painted", `painted("ground") > 3 && painted("marks") > 5`)
	b.does(`window.here = "not reloaded"`)
	f.change(t, 7, 77.5)
	b.sees("a value changes by itself", fmt.Sprintf(`document.querySelector('[data-key=%q]').textContent.includes("77.5")`,
		device))
	b.sees("the page is the same", `window.here !== undefined`)

	// By keyboard: closer, and the view is in the address.
	b.does(`byId("marks").focus()`)
	b.press("++++")
	b.sees("the map zooms in", `Number(location.hash.slice(1).split("/")[0]) > 3`)
	b.press("0")
	b.sees("the map shows the world again",
		`Number(location.hash.slice(1).split("/")[0]) < 3 && byId("inview").textContent === "60"`)
	b.does(`byId("theme").click()`)
	b.sees("the theme changes", `["dark", "light"].includes(document.documentElement.dataset.theme)`)
	b.does(`document.activeElement.blur()`)
	b.press("/")
	b.sees("the key / goes to the filter", `document.activeElement === byId("filter").elements.text`)
	b.does(`byId("filter").elements.text.value = ""`) // a simulated key is typed although the page has handled it
	b.press("PROBE-05")
	b.sees("list, map, and address are filtered", `byId("rows").rows.length === 10 && byId("total").textContent === "10" && `+
		`byId("inview").textContent === "10" && location.search.startsWith("?text=PROBE-05")`)
	b.sees("the figures count what is filtered", `document.querySelector("[data-figure=devices]").textContent === "10"`)
	b.open(f.url + "?text=probe-05&state=silent")
	b.sees("the address filters", `byId("filter").elements.text.value === "probe-05" && byId("total").textContent === "0"`)

	// By mouse: the mark of one device opens its page.
	b.open(f.url + fmt.Sprintf("#17/%f/%f", f.position(7).Lat, f.position(7).Lon))
	b.sees("one device is in view", `byId("inview").textContent === "1" && location.hash.startsWith("#17")`)
	b.clicksAMark()
	b.sees("its page opens", fmt.Sprintf(`location.pathname === "/devices/" + encodeURIComponent(%q)`, device))
	b.sees("it has its value", `byId("latest").textContent.includes("77.5")`)
	b.does(`window.here = "not reloaded"; document.querySelector("details").open = true`)
	f.change(t, 7, 88.5)
	b.sees("the value changes by itself",
		`(document.dispatchEvent(new Event("visibilitychange")), byId("latest").textContent.includes("88.5"))`)
	b.sees("the opened table stays open", `window.here !== undefined && document.querySelector("details").open`)

	for _, page := range []struct{ link, sees string }{
		{`nav a[href="/devices"]`, `document.querySelectorAll("#rows tbody tr").length === 50`},
		{`a[rel="next"]`, `document.querySelectorAll("#rows tbody tr").length === 10`},
		{`th a[href^="/devices/"]`, `document.querySelector("h1").textContent.startsWith("contoso:probe-05")`},
		{`nav a[href="/pipelines"]`, `document.querySelector("h2").textContent === "live"`},
		{`nav a[href="/tenants"]`, `document.querySelector("tbody th").textContent === "contoso"`},
		{`th a[href="/tenants/contoso"]`, `byId("figures").textContent.includes("60")`},
		{`.crumb a[href^="/?"]`, `byId("filter").elements.tenant.value === "contoso" && byId("inview").textContent === "60"`},
	} {
		b.clicks(page.link)
		b.sees("the page behind "+page.link, page.sees)
	}

	// On a phone, no page is wider than the window.
	b.must("be a phone", chromedp.Do(b.ctx, chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile,
		chromedp.EmulateTouch)))
	for _, path := range []string{"", "devices", "devices/" + string(device), "pipelines", "tenants", "tenants/contoso",
		"tenants/contoso/report", "archive"} {
		b.open(f.url + path)
		b.sees(path+" fits a phone",
			`document.readyState === "complete" && innerWidth === 360 && document.documentElement.scrollWidth <= 360`)
	}
}

// TestBrowserIsToldThatAPageIsOld: while storage fails, a page keeps what it shows, and says that it is old.
func TestBrowserIsToldThatAPageIsOld(t *testing.T) {
	t.Parallel()
	f := newProbeFleet(t, 3)
	b := newBrowser(t)
	b.open(f.url + "devices/" + string(f.id(1)))
	const again = `dispatchEvent(new Event("filtered")), ` // has the page read itself again
	b.failed = true
	f.Fail(true)
	b.sees("the page says that it is old", `(`+again+`byId("foot").dataset.lost?.includes("cannot be read again") && `+
		`byId("latest").textContent.includes("temperature"))`)
	f.Fail(false)
	b.sees("it is well again", `(`+again+`byId("foot").dataset.lost === undefined)`)
}

// TestBrowserZoomsComparesAndSavesAChart drags over a chart, draws another sensor over it, and reads the file of both.
func TestBrowserZoomsComparesAndSavesAChart(t *testing.T) {
	t.Parallel()
	f := newProbeFleet(t, 0)
	device := f.id(0)
	f.Add(t, schema.Device{ID: device})
	for i := range 50 {
		f.Send(t, device, time.Now().Add(-time.Duration(i+2)*time.Minute), map[string]any{"temperature": 20.0 + float64(i%5),
			"humidity": 50.0, "door": []string{"open", "shut"}[i/25]})
	}
	f.Fold(t)
	b := newBrowser(t)
	b.open(f.url + "devices/" + string(device) + "?span=1h&sensor=temperature")
	b.sees("the chart is there", `document.querySelector("[data-chart] .line").getAttribute("d").length > 100`)
	b.does(`for (const type of ["pointermove", "pointerdown"]) at(0.25, type)`)
	b.sees("the value under the pointer has its unit", `/temperature \d.*°C/.test(document.querySelector(".readout").textContent)`)
	b.does(`at(0.5, "pointermove")`)
	b.sees("the dragged time is marked", `document.querySelector(".selected").getAttribute("width") > 100`)
	b.does(`at(0.5, "pointerup")`)
	b.sees("the page shows the dragged time", `(() => { const q = new URLSearchParams(location.search), took = (Date.parse(q.get("to")) - `+
		`Date.parse(q.get("from"))) / 60e3; return took > 13 && took < 17; })()`)
	// Instants, not texts: a browser shortens a field's time on a whole minute to that minute.
	b.sees("the fields have it", `Date.parse(byId("range").elements.from.value + "Z") === Date.parse(new URLSearchParams(location.search).get("from"))`)
	b.sees("another sensor is offered", `document.querySelector("[name=with][value=humidity]") !== null`) // the page may still load
	b.does(`document.querySelector("[name=with][value=humidity]").click(); byId("range").requestSubmit()`)
	b.sees("another sensor is drawn over it", `new URLSearchParams(location.search).get("with") === "humidity" && `+
		`document.querySelector("svg.wide .line.o1").getAttribute("d").length > 50 && document.querySelector("[name=with][value=humidity]").checked`)
	b.does(`window.file = ""; fetch(document.querySelector("a[download]").href).then(async (got) => { window.file = await got.text(); })`)
	b.sees("the file has both, and only that time", `(() => { const rows = window.file.trim().split("\n"), n = (s) => rows.filter((r) => `+
		`r.includes("," + s + ",")).length; return n("temperature") > 10 && n("temperature") < 20 && n("humidity") === n("temperature"); })()`)
	b.open(f.url + "devices/" + string(device) + "?span=1h&sensor=door")
	b.sees("a text sensor has a timeline", `document.querySelectorAll("svg.wide .spells rect").length === 2`)
	b.does(`localStorage.setItem("zone", "local"); location.reload()`)
	b.sees("times are local", `byId("zone").textContent === "Times are local" && document.querySelector("[data-zone]").textContent === "local time"`)
	b.does(`byId("zone").click()`)
	b.sees("times are UTC again", `byId("zone").textContent === "Times are UTC"`)
}

// TestPagesAreUsableByEverybody looks for violations with axe-core, which .ci/long installs.
func TestPagesAreUsableByEverybody(t *testing.T) {
	path := os.Getenv("FURROW_AXE")
	if path == "" {
		t.Skip("FURROW_AXE does not name axe.min.js; .ci/long pages installs it")
	}
	axe := must.Have(os.ReadFile(path))(t)
	f := newProbeFleet(t, 60)
	f.Send(t, f.id(0), time.Now().Add(-time.Minute), map[string]any{"door": "open", "humidity": 40.0})
	f.Send(t, f.id(1), time.Now().Add(-2*time.Minute), map[string]any{"temperature": 700.0}) // it stands out
	f.Fold(t)
	f.Report(t)
	must.Succeed(t, f.Client.Table(f.Names.Partitions("retention")).Create(t.Context()))
	f.waits(t, f.id(0), "behind", time.Now().AddDate(0, 0, -20), "")
	f.waits(t, f.id(1), "", time.Time{}, "no answer")
	a := newArchive(f.Fixture)
	a.add(t, a.table(t, "contoso", "readings"), 20_000, 5, 1)
	b := newBrowser(t)
	for _, width := range []int64{1440, 390} {
		b.must("resize", chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		for _, path := range []string{"", "?text=nothing", "devices", "devices/" + string(f.id(0)) +
			"?sensor=temperature&with=humidity",
			"devices/" + string(f.id(0)) + "?sensor=door", "pipelines", "tenants", "tenants/contoso",
			"tenants/contoso/report?period=week&sensor=temperature", "costs", "retention", "rules",
			"configuration", "archive", "completeness", "limits", "activity", "incidents", "outliers",
			"devices/" + string(f.id(0)) + "?sensor=temperature&against=" + string(f.id(1))} {
			for _, theme := range []string{"light", "dark"} {
				b.open(f.url + path)
				b.sees(path+" is there", `document.readyState === "complete"`)
				b.does(`document.documentElement.dataset.theme = "` + theme + `"; dispatchEvent(new Event("theme"))`)
				b.does(string(axe) + `;window.violations = null; axe.run().then((found) => { window.violations = found.violations; })`)
				b.sees("axe is done", `window.violations !== null`)
				found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`window.violations.map((v) => v.id + ": " + v.nodes.map((n) => `+
					`n.html.slice(0, 160) + " " + n.failureSummary).join("; ")).join("\n")`))
				b.must("read what axe found", err)
				if found != "" {
					t.Errorf("/%s, %d pixels wide, %s: %s", path, width, theme, found)
				}
			}
		}
	}
}

// TestViewProjectsBackAndForth runs in the browser, at every zoom: a projected place comes back, and a place
// that is moved to a point lies there.
func TestViewProjectsBackAndForth(t *testing.T) {
	t.Parallel()
	f := newProbeFleet(t, 0)
	b := newBrowser(t)
	b.open(f.url + "/tenants")
	b.does(`(async () => {
		const beside = document.querySelector("script[type=module]").src.replace("page.js", "");
		const { View, near } = await import(beside + "view.js"), earth = await import(beside + "earth.js");
		const random = (low, high) => low + (high - low) * Math.random();
		let worst = 0;
		for (let lat = -90; lat <= 90; lat += 0.5) worst = Math.max(worst, Math.abs(earth.latitude(earth.north(lat)) - lat));
		const view = new View();
		view.resize(1000, 700);
		for (let i = 0; i < 3000; i++) {
			Object.assign(view, { zoom: random(0, 19), lon: random(-180, 180), lat: random(-70, 70) });
			view.settle();
			const [x, y] = [random(0, 1000), random(0, 700)], place = view.place(x, y);
			if (Math.abs(place[1]) > 80 || Math.abs(place[0] - view.straight) > 179) continue;
			const back = view.project(near(place[0]), place[1]);
			worst = Math.max(worst, Math.hypot(back[0] - x, back[1] - y));
			const box = view.box(), [west, south, east, north] = box;
			const inside = place[1] >= south - 1e-9 && place[1] <= north + 1e-9 && (west <= east ? near(place[0]) >= west - 1e-9 && near(place[0]) <= east + 1e-9 : near(place[0]) >= west - 1e-9 || near(place[0]) <= east + 1e-9);
			const span = view.span();
			if (!inside || place[0] < span[0] - 1e-9 || place[0] > span[2] + 1e-9) worst = Math.max(worst, 1000 + i);
			if (view.zoom < view.farthest + 3 || Math.abs(view.lat) > 55) continue; // the edges of the world limit the view
			const to = [x + random(-50, 50), y + random(-50, 50)];
			view.put(place, ...to);
			const now = view.project(near(place[0]), place[1]);
			worst = Math.max(worst, Math.hypot(now[0] - to[0], now[1] - to[1]));
		}
		window.worst = worst;
	})()`)
	b.sees("the measurement is done", `window.worst !== undefined`)
	if worst := b.number(`window.worst`); !(worst < 1e-3) {
		t.Errorf("the view is wrong by %g", worst)
	}
	// The same as earth.Project has in Go.
	if got := b.number(`import(document.querySelector("script[type=module]").src.replace("page.js", ` +
		`"earth.js")).then((earth) => 1000 * earth.north(50) + 10 * earth.east(50))`); math.Abs(got-(1000*0.941540234660433+
		10*0.012403502783330474)) > 1e-5 {
		t.Errorf("at 50 degrees north it is %.9f", got)
	}
}

type browser struct {
	t         *testing.T
	ctx       context.Context
	signedOut bool // an answer 401, which browsers report in the console, is no error
	refused   bool // an answer 400 neither
	failed    bool // storage fails: a status of 503 is no error of a page
}

// newBrowser starts a browser, or skips the test where there is none, unless FURROW_BROWSER is set. An exception or an
// error in a page's console fails the test; browsers report violations of the content security policy there.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("it looks at pages, and not at how they are made")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" && os.Getenv("FURROW_BROWSER") != "" {
		t.Fatal("no Chromium on this machine, and FURROW_BROWSER is set: no test of a page may be skipped")
	}
	if path == "" {
		t.Skip("no Chromium on this machine")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	b.must("start a browser", chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)))
	thrown, logged := chromedp.Events(ctx, runtime.ExceptionThrown), chromedp.Events(ctx, log.EntryAdded)
	var ended sync.WaitGroup
	ended.Go(func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			t.Errorf("a page threw: %s", e.ExceptionDetails.Text)
		}
	})
	ended.Go(func() {
		for e, err := range logged {
			if err != nil {
				return
			}
			if e.Entry.Level == "error" && !(b.signedOut && strings.Contains(e.Entry.Text, "status of 401")) &&
				!(b.refused && strings.Contains(e.Entry.Text, "status of 400")) &&
				!(b.failed && strings.Contains(e.Entry.Text, "status of 503")) {
				t.Errorf("a page logged: %s %s", e.Entry.Text, e.Entry.URL)
			}
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return b
}

func (b *browser) must(what string, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// helpers are functions for the conditions of tests.
const helpers = `globalThis.at = (part, type) => { const c = document.querySelector("[data-chart] svg.wide"), r = c.getBoundingClientRect(), [left, top, right] = c.dataset.plot.split(" ").map(Number), by = r.width / c.viewBox.baseVal.width; c.dispatchEvent(new PointerEvent(type, { clientX: r.left + (left + (right - left) * part) * by, clientY: r.top + 50 * by, bubbles: true, button: 0, pointerType: "mouse" })); };
globalThis.byId = (id) => document.getElementById(id);
globalThis.painted = (id) => { const c = byId(id), seen = new Set(), all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; for (let i = 0; i < all.length; i += 4) if (all[i + 3] > 250) seen.add(all[i] << 16 | all[i + 1] << 8 | all[i + 2]); return seen.size; };`

func (b *browser) open(url string) {
	b.t.Helper()
	b.must("open "+url, chromedp.Do(b.ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(url)))
}

func (b *browser) does(script string) {
	b.t.Helper()
	b.must(script, chromedp.Do(b.ctx, chromedp.Evaluate[chromedp.Void](helpers+script, chromedp.EvalAwaitPromise)))
}

func (b *browser) number(script string) float64 {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](script, chromedp.EvalAwaitPromise))
	b.must(script, err)
	return v
}

// sees waits until a condition is true of a page that has been read to its end.
func (b *browser) sees(what, condition string) {
	b.t.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(() => { try { `+helpers+
			` return document.readyState !== "loading" && Boolean(`+condition+`); } catch { return false; } })()`))
		if err == nil && is {
			return
		}
		if time.Now().After(until) {
			text, _ := chromedp.Run(b.ctx,
				chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 600)`))
			b.t.Fatalf("after two minutes it is still not true that %s (%v): %s\n%s", what, err, condition, text)
		}
	}
}

func (b *browser) press(keys string) {
	b.t.Helper()
	b.must("press "+keys, chromedp.Do(b.ctx, chromedp.KeyEvent(keys)))
}

func (b *browser) clicks(selector string) {
	b.t.Helper()
	b.must("click "+selector, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))))
}

// clicksAMark clicks in the middle of the map, after the animation of the mark there.
func (b *browser) clicksAMark() {
	b.t.Helper()
	b.sees("there is a mark", `painted("marks") > 3`)
	x, y := b.number(`(() => { const r = document.getElementById("marks").getBoundingClientRect(); return r.left + `+
		`r.width / 2; })()`), b.number(`(() => { const r = document.getElementById("marks").getBoundingClientRect(); `+
		`return r.top + r.height / 2; })()`)
	time.Sleep(300 * time.Millisecond) // the mark moves out of its cluster
	b.does(fmt.Sprintf(`byId("marks").dispatchEvent(new PointerEvent("pointermove", { clientX: %f, clientY: %f, `+
		`bubbles: true }))`, x, y))
	b.sees("a tip tells of it", `!byId("tip").hidden && byId("tip").textContent.includes("probe") && `+
		`byId("tip").textContent.includes("ago")`)
	b.must("click the map", chromedp.Do(b.ctx, chromedp.MouseClickXY(x, y)))
}

// A probeFleet is a fleet that browsers look at: probes in twelve cities.
type probeFleet struct {
	*fixture
	url string
}

func newProbeFleet(t *testing.T, n int) *probeFleet {
	t.Helper()
	f := &probeFleet{fixture: over(t, modeltest.New(t, azuretest.Local(t)), Config{Loopback: true}, retaining(),
		archiving())}
	for i := range n {
		position := f.position(i)
		f.Add(t, schema.Device{ID: f.id(i), Site: "here", Position: &position})
		f.Send(t, f.id(i), time.Now().Add(-time.Minute), map[string]any{"temperature": float64(i % 20)})
	}
	f.Fold(t)
	f.Report(t)
	url, stop, ended := f.serve(t)
	f.url = url + "/"
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return f
}

func (*probeFleet) id(i int) schema.DeviceID {
	return schema.DeviceID(fmt.Sprintf("contoso:probe-%03d", i))
}

func (*probeFleet) position(i int) schema.Position {
	return schema.Position{Lat: -50 + float64(i%12)*10 + float64(i/12)*0.05, Lon: -150 + float64(i%12)*27}
}

func (f *probeFleet) change(t *testing.T, i int, value float64) {
	t.Helper()
	f.Send(t, f.id(i), time.Now().Add(-11*time.Second), map[string]any{"temperature": value})
	f.Fold(t)
}
