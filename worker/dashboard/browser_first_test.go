package dashboard

import (
	"strings"
	"testing"
	"time"

	"furrow/tables/schema"
)

// TestBrowserShowsFirstPictures opens an empty fleet, and then adds its first devices.
func TestBrowserShowsFirstPictures(t *testing.T) {
	t.Parallel()
	f := newProbeFleet(t, 0)
	b := newBrowser(t)
	b.open(f.url)
	b.sees("an empty fleet has three commands to copy, and no filters", `byId("asks").hidden && !byId("nobody").hidden && `+
		`document.querySelectorAll("[data-copy] + button").length === 3`)

	f.Add(t, schema.Device{ID: "first", Position: &schema.Position{Lat: 57.15, Lon: -2.09}})
	f.Send(t, "first", time.Now().Add(-time.Minute), map[string]any{"temperature": 21.5})
	f.Fold(t)
	f.waitFor(t, 1)
	b.open(f.url)
	b.sees("one device is shown within a country", `(() => { const zoom = Number(location.hash.slice(1).split("/")[0]); `+
		`return byId("inview").textContent === "1" && zoom > 4 && zoom < 8; })()`)
	b.sees("there are filters now", `!byId("asks").hidden && byId("nobody").hidden`)
	b.open(f.url + "devices/first")
	b.sees("its chart has the shortest span with data", `document.querySelector(".spans [aria-current]").textContent === "10m"`)

	for i := range 2 {
		d := schema.Device{ID: schema.DeviceID("other-" + string(rune('a'+i))), Tenant: "fabrikam",
			Position: &schema.Position{Lat: 48, Lon: 11 + float64(i)}}
		f.Add(t, d)
		f.Send(t, d.ID, time.Now().Add(-3*time.Hour), map[string]any{"battery": 3.0})
		f.Send(t, d.ID, time.Now().Add(-time.Minute), map[string]any{"battery": 3.0, "pressure": 990.0})
	}
	f.Send(t, "other-a", time.Now().Add(-2*time.Minute), map[string]any{"humidity": 50.0})
	f.Fold(t)
	b.open(f.url + "tenants")
	b.does(`(async () => { while (!(await (await fetch("/v1/sensors")).text()).includes("pressure")); })()`)
	b.open(f.url + "?text=first")
	b.sees("the sensor is that of the device", `byId("filter").elements.sensor.value === "temperature" && byId("total").textContent === "1"`)
	b.enters("text", "other")
	b.sees("the sensor is one that the others have", `byId("total").textContent === "2" && `+
		`byId("filter").elements.sensor.value === "battery" && !location.search.includes("sensor=")`)
	b.sees("the list has its values", `[...byId("rows").rows].every((row) => row.lastElementChild.textContent === "3")`)
	b.enters("sensor", "pressure")
	b.sees("a chosen sensor stays", `[...byId("rows").rows].every((row) => row.lastElementChild.textContent === "990") && `+
		`location.search.includes("sensor=pressure")`)
	b.open(f.url + "devices/other-a?sensor=battery")
	b.sees("a chart with older values reaches them", `document.querySelector(".spans [aria-current]").textContent === "6h"`)

	if body := f.get("/").Body.String(); !strings.Contains(body, "No open incidents: 2\u00a0rules watch, since") {
		t.Errorf("the overview does not say which rules watch: %s", body)
	}
}
