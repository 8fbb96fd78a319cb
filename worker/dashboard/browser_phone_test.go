package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"furrow/tables/azuretest/must"
)

// TestBrowserFitsAPhone looks at pages that are 390 pixels wide: one row of header, filters behind a button, the map
// first, rows as cards, and nothing cut off.
func TestBrowserFitsAPhone(t *testing.T) {
	t.Parallel()
	_, at := newOddFleet(t)
	b := newBrowser(t)
	b.must("be a phone", chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile,
		chromedp.EmulateTouch)))
	const visible = `((e) => e.checkVisibility() && e.getBoundingClientRect().height > 0)`
	b.open(at + "/")
	b.sees("the header is one row", `document.querySelector(".top").getBoundingClientRect().height < 60`)
	b.sees("the map is first", `byId("marks").getBoundingClientRect().top < 120`)
	b.sees("menu and filters are closed", `!`+visible+`(byId("menu")) && !`+visible+`(byId("fields"))`)
	b.clicks(`[aria-controls="menu"]`)
	b.sees("the menu opens", visible+`(document.querySelector('#menu a[href="/devices"]')) && `+
		`document.querySelector('[aria-controls="menu"]').getAttribute("aria-expanded") === "true"`)
	b.clicks(`#menu a[href="/devices"]`)
	b.sees("rows are cards", `(() => { const cells = [...byId("rows").querySelector("tbody tr").cells]; return cells.length > 4 && `+
		`cells[0].getBoundingClientRect().bottom <= cells[1].getBoundingClientRect().top + 1 && cells[1].dataset.label === "State"; })()`)
	b.open(at + "/devices/odd-1?span=24h")
	b.sees("fields of a card keep apart", `(() => { const cells = [...document.querySelectorAll("#incidents tbody td")]; `+
		`return cells.length > 3 && cells.every((e) => parseFloat(getComputedStyle(e).paddingRight) > 7); })()`)
	b.open(at + "/devices?site=south&model=south-model")
	b.sees("the button says how many filters are set", `document.querySelector('[aria-controls="fields"]').textContent === "Filters (2)"`)
	b.clicks(`[aria-controls="fields"]`)
	b.sees("the filters open", visible+`(byId("filter").elements.where)`)
	b.open(at + "/")
	b.clicks(`[aria-controls="fields"]`)
	b.enters("site", "south")
	b.sees("the overview's button counts, too", `document.querySelector('[aria-controls="fields"]').textContent === "Filters (1)"`)
	for _, page := range []string{"/", "/devices", "/devices/odd-1", "/incidents", "/rules", "/tenants",
		"/tenants/contoso", "/pipelines", "/archive", "/limits", "/outliers",
		"/completeness", "/activity"} {
		b.open(at + page)
		b.sees(page+" is there", `document.readyState === "complete" && innerWidth === 390`)
		b.sees(page+" cuts nothing off", `document.documentElement.scrollWidth <= 390 && `+
			`[...document.querySelectorAll(".rows, main, .top")].every((e) => e.scrollWidth <= e.clientWidth + 1)`)
	}
}

// TestBrowserShowsNamesInOneLine on a wide screen, however little room the other columns leave.
func TestBrowserShowsNamesInOneLine(t *testing.T) {
	t.Parallel()
	_, at := newOddFleet(t)
	b := newBrowser(t)
	b.must("be narrow", chromedp.Do(b.ctx, chromedp.EmulateViewport(830, 800)))
	b.open(at + "/devices")
	b.sees("names are in one line", `(() => { const names = [...document.querySelectorAll("#rows tbody th a")]; `+
		`return names.length === 4 && names.every((e) => e.offsetHeight < 30); })()`)
}

// TestBrowserWritesNumbersAsPagesDo has the script format the examples that the pages' tests have.
func TestBrowserWritesNumbersAsPagesDo(t *testing.T) {
	t.Parallel()
	var all []struct {
		Format, Text string
		Value        float64
	}
	must.Succeed(t, json.Unmarshal(must.Have(os.ReadFile("web/testdata/texts.json"))(t), &all))
	f := newProbeFleet(t, 0)
	b := newBrowser(t)
	b.open(f.url + "tenants")
	b.does(`(async () => { window.texts = await import(document.querySelector("script[type=module]").src.replace("page.js", "text.js")); })()`)
	for _, one := range all {
		if got := b.text(fmt.Sprintf(`texts[%q](%v)`, one.Format, one.Value)); got != one.Text {
			t.Errorf("%s of %v is %q, want %q", one.Format, one.Value, got, one.Text)
		}
	}
}
