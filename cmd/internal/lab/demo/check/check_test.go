package check

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

const (
	pump = schema.DeviceID("pump-7")
	lift = schema.DeviceID("lift:2")
	day  = "2026-11-20"
)

var month = schema.Month{Year: 2026, Month: 3}

// A fixture is storage with handwritten readings and outputs.
type fixture struct {
	t      *testing.T
	client *tables.Client
	config Config
}

// at returns a time of the day.
func at(clock string) tables.Ticks {
	t, err := time.Parse("2006-01-02 15:04:05", day+" "+clock)
	if err != nil {
		panic(err)
	}
	return tables.TicksOf(t)
}

func (w *fixture) put(table, pk, rk string, properties map[string]any) {
	w.t.Helper()
	e := tables.Entity{PartitionKey: pk, RowKey: rk}
	for name, v := range properties {
		switch v := v.(type) {
		case string:
			e.Set(name, tables.String(v))
		case float64:
			e.Set(name, tables.Double(v))
		case int:
			e.Set(name, tables.Int64(int64(v)))
		}
	}
	must.Have(w.client.Table(table).Do(w.t.Context(), tables.InsertOrReplace(e)))(w.t)
}

func (w *fixture) remove(table, pk, rk string) {
	w.t.Helper()
	must.Have(w.client.Table(table).Do(w.t.Context(), tables.Delete(pk, rk, tables.AnyETag)))(w.t)
}

// send sends a row as a device does. Storage accepts it.
func (w *fixture) send(device schema.DeviceID, rk, values string) {
	w.t.Helper()
	take := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(bytes.NewReader(nil))}, nil
	}
	w.post(take, `{"PartitionKey":"`+string(device)+`","RowKey":"`+rk+`",`+values+`}`)
}

func (w *fixture) post(answer faults.Func, body string) {
	w.t.Helper()
	r := must.Have(http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://storage.test/readings",
		strings.NewReader(body)))(w.t)
	resp := must.Have(w.config.Receipts.Over(answer).RoundTrip(r))(w.t)
	must.Succeed(w.t, resp.Body.Close())
}

// newFixture returns two devices of different tenants, with readings.
func newFixture(t *testing.T) *fixture {
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	w := &fixture{t: t}
	w.client = must.Have(tables.Connect(tables.Config{Account: account}))(t)
	w.config = Config{Client: w.client, Receipts: &Receipts{}, Verify: &verify.Config{Client: w.client,
		Model: func(schema.Member) *verify.Model { return &verify.Model{} }}}
	for _, table := range []string{"readings", "fleet"} {
		must.Succeed(t, w.client.Table(table).Create(t.Context()))
	}
	for _, device := range []schema.DeviceID{pump, lift} {
		e, err := schema.Member{Month: month, Device: device, Tenant: tenantOf(device), Readings: "readings"}.Entity()
		must.Succeed(t, err)
		must.Have(w.client.Table("fleet").Do(t.Context(), tables.Insert(e)))(t)
	}
	w.readings()
	return w
}

// readings stores a few, among them a number sent as text, an object, two at the same time, one that is
// rejected, and one in the future.
func (w *fixture) readings() {
	for clock, values := range map[string]string{
		"10:00:10": `"t":1.5,"lid":"open"`,
		"10:00:50": `"t":"2.5","lid":"n/a"`,
		"10:01:00": `"t":-4.0,"air":"{\"p\":[7,true]}"`,
		"11:30:00": `"t":"NaN","lid":"closed","n@odata.type":"Edm.Int64","n":"3"`,
		"12:30:00": `"t":9.0`,
	} {
		w.send(pump, at(clock).String(), values)
	}
	for clock, stored := range map[string]map[string]any{
		"10:00:10": {"t": 1.5, "lid": "open"},
		"10:00:50": {"t": "2.5", "lid": "n/a"},
		"10:01:00": {"t": -4.0, "air": `{"p":[7,true]}`},
		"11:30:00": {"t": "NaN", "lid": "closed", "n": 3},
		"12:30:00": {"t": 9.0},
	} {
		w.put("readings", string(pump), at(clock).String(), stored)
	}
	for _, suffix := range []string{"", "-b"} {
		key := at("10:00:00").String() + suffix
		w.send(lift, key, `"t":20.0`)
		w.put("readings", string(lift), key, map[string]any{"t": 20.0})
	}
}

// tenantOf returns a device's tenant. That of lift has to be escaped in keys.
func tenantOf(d schema.DeviceID) schema.Tenant {
	return map[schema.DeviceID]schema.Tenant{pump: "contoso", lift: "Fabrikam & Söhne"}[d]
}

func latestPartition(d schema.DeviceID) string { return tenantOf(d).Key() + "!" + month.String() }

func (w *fixture) check() Result {
	w.t.Helper()
	r := must.Have(w.config.Run(w.t.Context()))(w.t)
	return r
}

func TestReadingsThatWereSentHaveNoDifferences(t *testing.T) {
	w := newFixture(t)
	r := w.check()
	for _, d := range r.First {
		t.Error(d)
	}
	if r.Devices != 2 || r.Readings != 7 || r.Lost+r.Doubled+r.Differences != 0 || r.Rejected != 1 {
		t.Errorf("it finds %+v", r)
	}
	w.config.Except = map[schema.DeviceID]bool{lift: true}
	delete(w.config.Receipts.sent, lift) // its rows were not sent by a simulated device
	delete(w.config.Receipts.told, lift)
	if r := w.check(); r.Devices != 1 || r.Differences != 0 {
		t.Errorf("without a device it finds %+v", r)
	}
}

func TestEveryKindOfDifferenceFromReceiptsIsFound(t *testing.T) {
	for name, p := range map[string]struct {
		plant func(w *fixture)
		want  string // in the differences, as text
		lost  int
	}{
		"a reading is lost from the raw table": {func(w *fixture) {
			w.send(pump, at("10:00:20").String(), `"t":3.0`)
		}, "it is absent, and should be there: the device was told", 1},
		"a device is lost": {func(w *fixture) { w.send("ghost", at("10:00:20").String(), `"t":3.0`) },
			"fleet ghost: it is absent", 1},
		"a reading is altered": {func(w *fixture) {
			w.put("readings", string(pump), at("12:30:00").String(), map[string]any{"t": 9.5})
		}, "it is another reading", 0},
		"a reading was sent by nobody": {func(w *fixture) {
			w.put("readings", string(pump), at("12:40:00").String(), map[string]any{"t": 9.5})
		}, "no device has sent it", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			p.plant(w)
			r := w.check()
			all := ""
			for _, d := range r.First {
				all += d.String() + "\n"
			}
			if !strings.Contains(all, p.want) || r.Differences == 0 || r.Lost != p.lost {
				t.Errorf("want %q, lost %d; it finds %+v:\n%s", p.want, p.lost, r, all)
			}
		})
	}
}

// TestLostAndDoubledReadingsAreThoseOfTheWorstOutput: one that is missing from every window is one.
func TestLostAndDoubledReadingsAreThoseOfTheWorstOutput(t *testing.T) {
	r := &Result{lost: map[string]int{}, doubled: map[string]int{}}
	for _, x := range []struct {
		output string
		rows   int64
		reason verify.Reason
	}{{"rollups 1m", 3, verify.Unknown}, {"rollups 1h", 2, verify.Unknown}, {"rollups 1m", 1, verify.InFlight},
		{"rollups 1d", -5, verify.Unknown}, {"folded", 7, verify.NotDue}} {
		r.add(&verify.Device{Device: pump, Differences: []verify.Difference{{Output: x.output, Rows: x.rows,
			Reason: x.reason}}})
	}
	if r.sum(); r.Lost != 4 || r.Doubled != 5 || r.Waiting != 7 || r.Differences != 4 {
		t.Errorf("it finds %+v", r)
	}
}

func TestOnlyAcknowledgedRowsHaveReceipts(t *testing.T) {
	one := `{"PartitionKey":"pump-7","RowKey":"0639","t":1.5}`
	two := "--batch\r\nContent-Type: application/http\r\n\r\nPOST x HTTP/1.1\r\n\r\n" + one + "\r\n--set\r\n\r\n" +
		strings.Replace(one, "0639", "0640", 1) + "\r\n--set--\r\n"
	good := "--r\r\nHTTP/1.1 204 No Content\r\n\r\n"
	for name, c := range map[string]struct {
		body, answer string
		status       int
		told         int
	}{
		"one":                              {one, "", 204, 1},
		"one, echoed":                      {one, one, 201, 1},
		"one, refused":                     {one, "", 403, 0},
		"one, there already":               {one, "", 409, 0},
		"several":                          {two, good + good, 202, 2},
		"several, one refused":             {two, good + "HTTP/1.1 409 Conflict\r\n", 202, 0},
		"several, all refused at once":     {two, "HTTP/1.1 403 Forbidden\r\n", 202, 0},
		"several, half of them unanswered": {two, good, 202, 0},
		"several, refused on their way":    {two, "", 503, 0},
	} {
		w := &fixture{t: t, config: Config{Receipts: &Receipts{}}}
		w.post(func(r *http.Request) (*http.Response, error) {
			if sent, err := io.ReadAll(r.Body); err != nil || string(sent) != c.body {
				t.Errorf("%s: storage gets %q, %v", name, sent, err)
			}
			return &http.Response{StatusCode: c.status, Body: io.NopCloser(strings.NewReader(c.answer))}, nil
		}, c.body)
		if _, told := w.config.Receipts.Told(); told != c.told {
			t.Errorf("%s: %d receipts, want %d", name, told, c.told)
		}
	}
}
