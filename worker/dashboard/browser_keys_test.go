package dashboard

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestBrowserIsToldByKeyboardAlone which of the devices is wrong: from the overview by the list of devices and the
// device to its incident, with nothing but Tab and Enter. What has the focus can be seen.
func TestBrowserIsToldByKeyboardAlone(t *testing.T) {
	t.Parallel()
	_, at := newOddFleet(t)
	b := newBrowser(t)
	b.must("be wide", chromedp.Do(b.ctx, chromedp.EmulateViewport(1280, 900)))
	b.open(at + "/")
	b.sees("the overview is there", `byId("live").dataset.state === "live" && byId("whole").href.includes("/devices?")`)
	b.press(kb.Tab)
	b.sees("the first key leads to the content", `document.activeElement.matches(".skip") && `+
		`document.activeElement.getBoundingClientRect().top >= 0`)
	b.press(kb.Enter)
	for _, step := range []struct{ to, sees string }{
		{`#whole`, `location.pathname === "/devices" && document.querySelectorAll("#rows tbody tr").length === 4`},
		{`#rows th a[href="/devices/odd-1"]`, `location.pathname === "/devices/odd-1" && document.querySelector("#incidents a")`},
		{`#incidents th a[href^="/incidents/hot~odd-1"]`, `location.pathname.startsWith("/incidents/hot~odd-1") && ` +
			`byId("transitions").textContent.includes("opened")`},
		{`dd a[href="/devices/odd-1"]`, `location.pathname === "/devices/odd-1"`},
	} {
		b.tabsTo(step.to)
		b.press(kb.Enter)
		b.sees("the page behind "+step.to, `document.readyState === "complete" && `+step.sees)
	}
}

// tabsTo presses Tab until an element has the focus. All that has it on the way can be seen, and says what it is.
func (b *browser) tabsTo(selector string) {
	b.t.Helper()
	const most = 150
	for range most {
		if b.text(fmt.Sprintf(`String(document.activeElement.matches(%q))`, selector)) == "true" {
			return
		}
		b.press(kb.Tab)
		if hidden := b.text(`(() => { const e = document.activeElement, box = e.getBoundingClientRect(), look = getComputedStyle(e);
			const seen = e === document.body || e.matches(".skip") || box.width > 0 && box.height > 0 &&
				(look.outlineStyle !== "none" || look.boxShadow !== "none" || e.matches("canvas, summary"));
			return seen ? "" : e.outerHTML.slice(0, 200); })()`); hidden != "" {
			b.t.Errorf("on the way to %s the focus cannot be seen on %s", selector, hidden)
		}
	}
	b.t.Fatalf("%d keys do not reach %s", most, selector)
}
