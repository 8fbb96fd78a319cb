package dashboard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// TestOutliersAreThoseOfTheCommand has a device that is off and a stuck one. The API, the overview and the reader of
// the command find the same, and requests share what is read.
func TestOutliersAreThoseOfTheCommand(t *testing.T) {
	f := newFixture(t, 2, Config{Loopback: true})
	const mates = 7
	now := time.Now()
	for i := range mates {
		for k, site := range []string{"hall8", "hall9"} {
			id := schema.DeviceID(fmt.Sprintf("%s-%d", site, i))
			f.Add(t, schema.Device{ID: id, Site: schema.Site(site), Position: &schema.Position{}})
			for ago := 8 * time.Hour; ago > 0; ago -= 20 * time.Minute {
				temperature := 8 + 23*float64(k) + float64((i*7+int(ago.Minutes()))%9)/10
				switch id {
				case "hall8-3":
					temperature = 31.5 + temperature/100
				case "hall9-2":
					temperature = 31.1
				}
				f.Send(t, id, now.Add(-ago), map[string]any{"temperature": temperature})
			}
		}
	}
	f.Fold(t)
	f.run(t, 2+2*mates)
	var first, second model.OutlierList
	must.Succeed(t, json.Unmarshal(f.get("/v1/outliers").Body.Bytes(), &first))
	must.Succeed(t, json.Unmarshal(f.get("/v1/outliers?site=hall9&limit=1").Body.Bytes(), &second))
	if first.Total != 2 || first.Compared != 2*mates || first.Some || first.Operations == 0 || first.Operations > 20 ||
		second.Total != 1 || second.Rows[0].Device != "hall9-2" {
		t.Errorf("%+v and of a site %+v", first, second)
	}
	wantProblem(t, "of a mistyped tenant", f.get("/v1/outliers?tenant=contosoo"), api.NotFound)
	q := query.OutlierQuestion{Question: query.Question{Scope: query.ScopeOfTenant("contoso"), Models: &query.Models{
		Of: func(m schema.Member) *query.Model {
			return &query.Model{Name: livePipeline().Model(m), Sensors: sensorsOf(m.Device),
				Unit: func(sensor string) string { return livePipeline().Unit(sensor) }}
		}}},
		Windows: livePipeline().Windows, Pipeline: "live", Now: time.Now(),
		Every: func(schema.Member) time.Duration { return 0 }}
	found, compared, err := query.Fleet{Tables: f.Client, Names: f.Names}.Outliers(t.Context(), q, new(query.Skipped))
	must.Succeed(t, err)
	var rows []answers.Outlier
	for _, o := range found {
		rows = append(rows, answers.OutlierOf(o))
	}
	if compared != first.Compared || !reflect.DeepEqual(rows, first.Rows) {
		t.Errorf("the command compares %d and finds %+v; the API %d and %+v", compared, rows, first.Compared, first.Rows)
	}
	page := f.get("/").Body.String()
	for _, says := range []string{"devices stand out<", `href="/devices/hall8-3?sensor=temperature"`, fmt.Sprint(2*mates) + " compared",
		"the median of 6 devices of site hall8 is 8."} {
		if !strings.Contains(page, says) {
			t.Errorf("the overview does not say %q", says)
		}
	}
	wantProblem(t, "a wrong group", f.get("/v1/outliers?by=floor"), api.BadRequest)
}

// TestDeviceThatNeverSentAReadingIsRejectedAllTheSame: nothing that it has sent was ever a reading.
func TestDeviceThatNeverSentAReadingIsRejectedAllTheSame(t *testing.T) {
	f := newFixture(t, 2, Config{Loopback: true})
	const rows = 12
	for id, status := range map[schema.DeviceID]schema.Status{"odd": schema.Active, "old": schema.Revoked} {
		f.Add(t, schema.Device{ID: id, Site: "hall8", Position: &schema.Position{}, Status: status})
		for n := range rows {
			at := tables.TicksOf(time.Now().Add(time.Duration(n-rows-1) * time.Minute))
			f.Write(t, f.Names.Readings(), tables.Entity{PartitionKey: string(id), RowKey: at.String() + "-no key"})
		}
	}
	f.Fold(t)
	f.run(t, 4)
	var list model.OutlierList
	must.Succeed(t, json.Unmarshal(f.get("/v1/outliers").Body.Bytes(), &list))
	q := query.OutlierQuestion{Question: query.Question{Scope: query.ScopeOfTenant("contoso"), Models: &query.Models{
		Of: func(schema.Member) *query.Model { return &query.Model{} }}},
		Pipeline: "live", Now: time.Now(), Every: func(schema.Member) time.Duration { return 0 }}
	found, _, err := query.Fleet{Tables: f.Client, Names: f.Names}.Outliers(t.Context(), q, new(query.Skipped))
	must.Succeed(t, err)
	if len(found) != 1 || found[0].Device != "odd" || found[0].Value != rows || list.Total != 1 ||
		!reflect.DeepEqual(list.Rows[0], answers.OutlierOf(found[0])) {
		t.Errorf("the command finds %+v, and the API %+v", found, list.Rows)
	}
}
