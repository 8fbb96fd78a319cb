package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// reports returns the parts of an answer of /v1/reports, each with at most limit rows.
func (f *fixture) reports(t *testing.T, query string, limit int) (all []answers.Report, parts int) {
	t.Helper()
	for next := ""; ; parts++ {
		w := f.get(fmt.Sprintf("/v1/reports?%s&limit=%d&after=%s", query, limit, url.QueryEscape(next)))
		var part model.Reports
		if must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &part)); w.Code != 200 {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		all = append(all, part.Rows...)
		if next = part.Next; next == "" {
			return all, parts + 1
		}
	}
}

// TestReportsSumUpTheReadingsOfAllDevices compares reports by tenant and by site with the readings of the fleet.
func TestReportsSumUpTheReadingsOfAllDevices(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	const n = 12
	f := newFixture(t, n, Config{Loopback: true})
	f.run(t, n)
	byTenant, _ := f.reports(t, "tenant=contoso&from=-6h&window=1h", 1000)
	bySite, _ := f.reports(t, "by=site&from=-6h&window=1h", 1000)
	sums := func(all []answers.Report, tenant, group string) (count, devices int64, sum float64) {
		for _, r := range all {
			if r.Tenant == tenant && r.Group == group {
				temperature := r.Sensors.Map()["temperature"]
				count, devices, sum = count+temperature.Count, max(devices, temperature.Devices), sum+temperature.Sum
			}
		}
		return count, devices, sum
	}
	for tenant, site := range map[string]string{"contoso": "hall2", "fabrikam": "hall3"} {
		var all, here, devices, devicesHere int64
		var sum, sumHere float64
		for i := range n {
			if tenant != []string{"contoso", "fabrikam"}[i%2] {
				continue
			}
			of := 4*float64(i%40) + 3 + 1 + 3.0/60 // Grow sends four readings
			all, devices, sum = all+4, devices+1, sum+of
			if site == fmt.Sprint("hall", i%5) {
				here, devicesHere, sumHere = here+4, devicesHere+1, sumHere+of
			}
		}
		count, _, got := sums(bySite, tenant, site)
		if count != here || math.Abs(got-sumHere) > 1e-9*sumHere {
			t.Errorf("%s of %s: %d readings with the sum %v, want %d with %v", site, tenant, count, got, here, sumHere)
		}
		if tenant != "contoso" {
			continue
		}
		count, most, got := sums(byTenant, tenant, "")
		if count != all || most != devices || math.Abs(got-sum) > 1e-9*sum {
			t.Errorf("%s: %d readings of %d devices with the sum %v, want %d of %d with %v", tenant, count, most, got, all,
				devices, sum)
		}
	}
}

// TestReportsContinueWithoutGapsOrRepeats reads answers in parts.
func TestReportsContinueWithoutGapsOrRepeats(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	day := func(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }
	fixed := fmt.Sprintf("from=%s&to=%s", day(-2), day(1))
	for _, query := range []string{"by=site&window=1h&" + fixed, "tenant=fabrikam&window=1h&" + fixed,
		"by=site&window=1d&sensors=temperature&" + fixed, "site=hall1&window=1h&" + fixed} {
		whole, _ := f.reports(t, query, 1000)
		for _, limit := range []int{1, 3} {
			again, parts := f.reports(t, query, limit)
			if !slices.EqualFunc(whole, again, func(a, b answers.Report) bool {
				return fmt.Sprint(a) == fmt.Sprint(b)
			}) || parts != max(1, (len(whole)+limit-1)/limit) || len(whole) < 2 {
				t.Errorf("%s in %d parts:\n%v\nwant\n%v", query, parts, again, whole)
			}
		}
	}
	w := f.get("/v1/reports?by=site&limit=1&" + fixed)
	var part model.Reports
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &part))
	wantProblem(t, "a cursor of another question", f.get("/v1/reports?limit=1&"+fixed+"&after="+part.Next), api.BadRequest)
}

// TestReportsAreTheSameInEveryFormat compares JSON lines, CSV and Arrow with JSON.
func TestReportsAreTheSameInEveryFormat(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newFixture(t, 12, Config{Loopback: true})
	f.run(t, 12)
	const question = "by=site&window=1d&from=-2d"
	whole, _ := f.reports(t, question, 1000)
	lines := strings.Split(strings.TrimSpace(f.get("/v1/reports?"+question+"&format=jsonl").Body.String()), "\n")
	table := must.Have(csv.NewReader(f.get("/v1/reports?"+question, "Accept", "text/csv").Body).ReadAll())(t)
	const columns = "tenant group time sensor count sum min max first last mean devices"
	if len(lines) != len(whole) || len(table) != 1+len(whole) || strings.Join(table[0], " ") != columns {
		t.Fatalf("%d lines, %d rows of CSV %v, %d of JSON", len(lines), len(table)-1, table[0], len(whole))
	}
	for i, want := range whole {
		var r answers.Report
		if must.Succeed(t, json.Unmarshal([]byte(lines[i]), &r)); fmt.Sprint(r) != fmt.Sprint(want) {
			t.Errorf("line %d: %v, want %v", i, r, want)
		}
		v := want.Sensors.Map()["temperature"]
		row := []string{want.Tenant, want.Group, want.Time.Format(time.RFC3339), "temperature"}
		for _, n := range []any{v.Count, v.Sum, v.Min, v.Max, v.First, v.Last, v.Mean, v.Devices} {
			row = append(row, fmt.Sprint(n))
		}
		if !slices.Equal(table[1+i], row) {
			t.Errorf("row %d: %v, want %v", i, table[1+i], row)
		}
	}
	w := f.get("/v1/reports?" + question + "&format=arrow")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/vnd.apache.arrow.stream" {
		t.Fatalf("Arrow: %d %v", w.Code, w.Header())
	}
	stream := must.Have(ipc.NewReader(w.Body))(t)
	var names []string
	for _, field := range stream.Schema().Fields() {
		names = append(names, field.Name)
	}
	var rows [][]string
	for stream.Next() {
		b := stream.RecordBatch()
		for i := range int(b.NumRows()) {
			var row []string
			for _, column := range b.Columns() {
				if at, is := column.(*array.Timestamp); is {
					row = append(row, at.Value(i).ToTime(at.DataType().(*arrow.TimestampType).Unit).Format(time.RFC3339))
				} else {
					row = append(row, fmt.Sprint(column.GetOneForMarshal(i)))
				}
			}
			rows = append(rows, row)
		}
	}
	must.Succeed(t, stream.Err())
	if rows = append([][]string{names}, rows...); !slices.EqualFunc(rows, table, slices.Equal[[]string]) {
		t.Errorf("Arrow has %v, want %v", rows, table)
	}
}

// TestReportsSayWhatIsConfigured asks for what there is not.
func TestReportsSayWhatIsConfigured(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 6, Config{Loopback: true})
	f.run(t, 6)
	for query, says := range map[string]string{"by=labels.class": "tenant, site, labels.floor", "window=1m": "1h, 1d",
		"by=place": "want tenant, site or labels.NAME", "site=hall1&by=tenant": "leave out by=tenant",
		"label=floor": "NAME=TEXT", "sensors=temprature": "door, temperature", "site=hall1&label=floor=2": "leave out",
		"label=floor=" + strings.Repeat("x", 129): "at most 128"} {
		w := f.get("/v1/reports?" + query)
		if wantProblem(t, query, w, api.BadRequest); !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s does not say %q: %s", query, says, w.Body)
		}
	}
	wantProblem(t, "an unknown tenant", f.get("/v1/reports?tenant=nobody"), api.NotFound)
}

// TestSummaryTellsWhichDevicesStandOut has one device differ from the others of its site, though not from those of a
// warmer one, and compares the totals of the sites of a tenant's day, week and month with those of the tenant.
func TestSummaryTellsWhichDevicesStandOut(t *testing.T) {
	const n = 16
	f := newFixture(t, n, Config{Loopback: true})
	at := time.Now().Add(-time.Hour) // as all others
	add := func(id, site string, temperature float64) {
		f.Add(t, schema.Device{ID: schema.DeviceID(id), Site: schema.Site(site), Position: &schema.Position{}})
		f.Send(t, schema.DeviceID(id), at, map[string]any{"temperature": temperature})
	}
	const mates = 7
	for i := range mates {
		add(fmt.Sprintf("cold-%d", i), "hall8", 8.1+float64(i)/20)
		add(fmt.Sprintf("warm-%d", i), "hall9", 31.2+float64(i)/10)
	}
	add("odd-1", "hall8", 31.5)
	f.Fold(t)
	f.Report(t)
	f.run(t, n+1+2*mates)
	for _, period := range model.Periods() {
		var s model.Summary
		query := fmt.Sprintf("sensor=temperature&period=%s&day=%s", period, at.UTC().Format(time.DateOnly))
		w := f.get("/v1/tenants/contoso/summary?" + query)
		must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &s))
		if o := s.Outliers; o.Compared != 2*mates+1 || len(o.Devices) != 1 || o.Devices[0].Device != "odd-1" ||
			o.Devices[0].Neighbours != mates || o.Devices[0].Median > 8.4 || o.Devices[0].Site != "hall8" {
			t.Errorf("%s: %+v stand out", period, o)
		}
		var all, points int64
		for _, g := range s.Groups {
			all += g.Count
		}
		for _, p := range s.Points {
			points += p.Count
		}
		if s.All == nil || s.All.Count != all || all != points || len(s.Groups) != 7 ||
			s.Groups[0].Group != "hall9" || s.By != "site" || s.Unit != "°C" {
			t.Errorf("%s: %s", period, w.Body)
		}
		if w := f.get("/tenants/contoso/report?" + query); w.Code != 200 ||
			!strings.Contains(w.Body.String(), `href="/devices/odd-1?`) || !strings.Contains(w.Body.String(), "hall2") {
			t.Errorf("the page of the %s: %d %s", period, w.Code, w.Body)
		}
	}
	for query, says := range map[string]string{"by=labels.class": "site, labels.floor", "period=year": "day, week, month",
		"sensor=temperature/h": "rate"} {
		w := f.get("/v1/tenants/contoso/summary?" + query)
		if wantProblem(t, query, w, api.BadRequest); !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s does not say %q: %s", query, says, w.Body)
		}
	}
}
