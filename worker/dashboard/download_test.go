package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// saved returns the file that a page offers.
func (f *fixture) saved(t *testing.T, page string) (code int, lines []string) {
	t.Helper()
	body := f.get(page).Body.String()
	link := regexp.MustCompile(`<a href="([^"]*)" download`).FindStringSubmatch(body)
	if link == nil {
		t.Fatalf("%s offers no file: %s", page, body)
	}
	w := f.get(strings.ReplaceAll(link[1], "&amp;", "&"))
	return w.Code, strings.Split(strings.TrimSpace(w.Body.String()), "\n")
}

// TestFilesOfPagesAreWhole: the closed incidents of many tenants take more operations than a part of an answer may, and
// a file does not say that there are more parts.
func TestFilesOfPagesAreWhole(t *testing.T) {
	t.Parallel()
	const tenants = 60
	f := newFixture(t, 4, Config{Loopback: true})
	at := time.Now().Add(-time.Hour)
	for i := range tenants {
		id := schema.DeviceID(fmt.Sprintf("x%04d", i))
		f.Add(t, schema.Device{ID: id, Tenant: schema.Tenant(fmt.Sprint("tenant", i)),
			Position: &schema.Position{Lat: 1}})
		f.Closes(t, f.Opens(t, "hot", id, at, "info"), at.Add(time.Minute))
	}
	f.run(t, 4+tenants)
	for page, want := range map[string]int{"/incidents?state=closed": tenants, "/devices": 4 + tenants,
		"/devices?tenant=tenant7": 1} {
		if code, lines := f.saved(t, page); code != http.StatusOK || len(lines) != 1+want {
			t.Errorf("%s: %d, and the file has %d lines, want %d: %.300q", page, code, len(lines)-1, want, lines)
		}
	}
	if code, lines := f.saved(t, "/tenants/contoso/report"); code != http.StatusOK || len(lines) < 2 ||
		!strings.HasPrefix(lines[1], "contoso,hall0,") {
		t.Errorf("the file of a report: %d %q", code, lines)
	}
}

// TestFileOfAPartOfTheFleetIsRefused: a file does not say that a storage account is missing, either.
func TestFileOfAPartOfTheFleetIsRefused(t *testing.T) {
	t.Parallel()
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, 8, time.Now().Truncate(time.Second), fleets...)
	f := overAccounts(t, fleets, Config{Loopback: true})
	f.run(t, 8)
	fleets[1].Fail(true)
	until(t, "an account is missing", func() bool { return f.get("/v1/overview").Header().Get(IncompleteHeader) != "" })
	for _, page := range []string{"/devices", "/incidents"} {
		if code, lines := f.saved(t, page); code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %.300q", page, code, lines)
		}
	}
}

// TestFileOfAPartOfAChartIsRefused: a chart says that it shows the first 2,000 values alone, and a file cannot.
func TestFileOfAPartOfAChartIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, Config{Loopback: true})
	from := time.Now().Add(-50 * time.Minute)
	fill(t, f, f.Names.Readings(), 2100, func(i int) tables.Entity {
		at := tables.TicksOf(from.Add(time.Duration(i) * time.Second))
		e := tables.Entity{PartitionKey: "d0001", RowKey: at.String()}
		e.Set("temperature", tables.Double(20))
		return e
	})
	f.run(t, 2)
	const file = "/devices/d0001/series.csv?span=1h&sensor=temperature&window="
	w := f.get(file + "raw")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "longer window") {
		t.Errorf("a file of a part: %d %.300s", w.Code, w.Body)
	}
	if w := f.get(file + "1m"); w.Code != http.StatusOK {
		t.Errorf("a file of minutes: %d %.300s", w.Code, w.Body)
	}
}
