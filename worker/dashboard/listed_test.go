package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
)

// TestFormatsOfListsSayTheSame compares whole lists with the pages in JSON.
func TestFormatsOfListsSayTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 9, Config{Loopback: true})
	f.run(t, 9)
	const target = "/v1/devices?sort=value&where=door+==+%22open%22"
	var list model.DeviceList
	if err := json.Unmarshal(f.get(target).Body.Bytes(), &list); err != nil || list.Total != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	var want, lines, cells, columns []string
	for _, d := range list.Devices {
		want = append(want, fmt.Sprint(d.Device, d.Model, d.Value, list.Sensor, list.Unit))
	}
	for line := range strings.Lines(f.get(target + "&format=jsonl").Body.String()) {
		var d model.Listed
		must.Succeed(t, json.Unmarshal([]byte(line), &d))
		lines = append(lines, fmt.Sprint(d.Device, d.Model, d.Value, d.Sensor, d.Unit))
	}
	w := f.get(target, "Accept", "text/csv")
	if w.Header().Get("Furrow-Count") != "5" || w.Header().Get("Furrow-Limit") != "1000000" {
		t.Errorf("the headers are %v", w.Header())
	}
	rows := must.Have(csv.NewReader(w.Body).ReadAll())(t)
	for _, r := range rows[1:] {
		cells = append(cells, r[0]+r[7]+r[2]+r[14]+r[15])
	}
	documented := "Columns: " + strings.Join(rows[0], ", ") + "."
	if !strings.Contains(f.get("/openapi.json").Body.String(), documented) {
		t.Errorf("the document does not have %q", documented)
	}
	arrow := must.Have(ipc.NewReader(f.get(target + "&format=arrow").Body))(t)
	for arrow.Next() {
		b := arrow.RecordBatch()
		for i := range int(b.NumRows()) {
			columns = append(columns, fmt.Sprint(b.Column(0).ValueStr(i), b.Column(7).ValueStr(i),
				b.Column(2).(*array.Float64).Value(i), b.Column(14).ValueStr(i), b.Column(15).ValueStr(i)))
		}
	}
	for format, got := range map[string][]string{"jsonl": lines, "csv": cells, "arrow": columns} {
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	next := f.get(target + "&format=csv&limit=2").Header().Get("Furrow-Next")
	if w := f.get(target + "&limit=2&after=" + next); !strings.Contains(w.Body.String(), want[2][:5]) {
		t.Errorf("after two rows: %s", w.Body)
	}
	wantProblem(t, "another list", f.get("/v1/devices?sort=value&after="+next), api.BadRequest)
}

// TestLongIDsCanBeToldApart where they begin with the same tenant and site, as kitchens' do.
func TestLongIDsCanBeToldApart(t *testing.T) {
	t.Parallel()
	fleet := modeltest.New(t, azuretest.Local(t))
	f := over(t, fleet, Config{Loopback: true})
	const same = "43f4b965-aa85-405a-43d7-08d958688822:US-5260:Giles-716371230190"
	for n, id := range []schema.DeviceID{same + "5", same + "6"} {
		fleet.Add(t, schema.Device{ID: id, Position: &schema.Position{Lat: 50, Lon: 10}})
		fleet.Send(t, id, time.Now().Add(-time.Minute), map[string]any{"temperature": 20.0})
		fleet.Opens(t, "hot", id, time.Now().Add(-time.Duration(n+1)*time.Hour), "warning")
	}
	fleet.Fold(t)
	f.run(t, 2)
	f.waitForIncidents(t, 2)
	for _, page := range []string{"/", "/devices", "/incidents"} {
		text := f.get(page).Body.String()
		for _, end := range []string{"5", "6"} {
			if !strings.Contains(text, `title="`+same+end+`">43f4b965…iles-716371230190`+end+"<") {
				t.Errorf("%s does not show %s%s", page, same, end)
			}
		}
	}
}
