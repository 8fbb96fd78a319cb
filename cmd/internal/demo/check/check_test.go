package check

import (
	"bytes"
	"fmt"
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

// newFixture returns two devices of different tenants, with correct outputs.
func newFixture(t *testing.T) *fixture {
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	w := &fixture{t: t}
	w.client = must.Have(tables.Connect(tables.Config{Account: account}))(t)
	w.config = Config{Client: w.client, Pipeline: "live", Until: at("12:00:00"), Receipts: &Receipts{}}
	for _, table := range []string{"readings", "fleet", "partitionslive", "latest", "rollups", "rejects"} {
		must.Succeed(t, w.client.Table(table).Create(t.Context()))
	}
	for _, device := range []schema.DeviceID{pump, lift} {
		e, err := schema.Member{Month: month, Device: device, Tenant: tenantOf(device), Readings: "readings"}.Entity()
		must.Succeed(t, err)
		must.Have(w.client.Table("fleet").Do(t.Context(), tables.Insert(e)))(t)
		w.put("partitionslive", month.String(), "contoso!"+string(device),
			map[string]any{"LastReadRowKey": at("11:59:00").String(),
				"Rejects": map[schema.DeviceID]int{pump: 1}[device]})
	}
	w.readings()
	w.outputs()
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

func (w *fixture) outputs() {
	w.rollup(pump, "1m", "10:00:00", map[string]any{"t": "[2,4,1.5,2.5,1.5,2.5]"})
	w.rollup(pump, "1m", "10:01:00", map[string]any{"t": "[1,-4,-4,-4,-4,-4]", "air_p_0": "[1,7,7,7,7,7]",
		"air_p_1": "[1,1,1,1,1,1]"})
	w.rollup(pump, "1m", "11:30:00", map[string]any{"n": "[1,3,3,3,3,3]"})
	w.rollup(pump, "1h", "10:00:00", map[string]any{"t": "[3,1e-16,-4,2.5,1.5,-4]", "air_p_0": "[1,7,7,7,7,7]",
		"air_p_1": "[1,1,1,1,1,1]"})
	w.rollup(pump, "1h", "11:00:00", map[string]any{"n": "[1,3,3,3,3,3]"})
	w.rollup(pump, "1d", "00:00:00", map[string]any{"t": "[3,0,-4,2.5,1.5,-4]", "air_p_0": "[1,7,7,7,7,7]",
		"air_p_1": "[1,1,1,1,1,1]", "n": "[1,3,3,3,3,3]"})
	w.latest(pump, map[string]any{"t": newestText("10:01:00", "-4"), "lid": newestText("11:30:00", `"closed"`),
		"air_p_0": newestText("10:01:00", "7"), "air_p_1": newestText("10:01:00", "1"), "n": newestText("11:30:00", "3")})
	w.reject(pump, 0, "11:30:00")
	for window, clock := range map[string]string{"1m": "10:00:00", "1h": "10:00:00", "1d": "00:00:00"} {
		w.rollup(lift, window, clock, map[string]any{"t": "[2,40,20,20,20,20]"})
	}
	w.latest(lift, map[string]any{"t": newestText("10:00:00", "20")})
}

func newestText(clock, value string) string { return `["` + at(clock).String() + `",` + value + `]` }

// reject stores a rejected row in a slot of a device.
func (w *fixture) reject(d schema.DeviceID, slot int, clock string) {
	w.put("rejects", string(d), fmt.Sprintf("live!%02d", slot), map[string]any{"Row": at(clock).String(),
		"Reason": "t: it is not finite"})
}

// tenantOf returns a device's tenant. That of lift has to be escaped in keys.
func tenantOf(d schema.DeviceID) schema.Tenant {
	return map[schema.DeviceID]schema.Tenant{pump: "contoso", lift: "Fabrikam & Söhne"}[d]
}

func (w *fixture) rollup(d schema.DeviceID, window, clock string, properties map[string]any) {
	properties["_fence"] = 7
	w.put("rollups", rollupPartition(d, window), string(d)+"!"+at(clock).String(), properties)
}

func rollupPartition(d schema.DeviceID, window string) string {
	return tenantOf(d).Key() + "!" + window + "!" + day + "!" + month.String()
}

func latestPartition(d schema.DeviceID) string { return tenantOf(d).Key() + "!" + month.String() }

func (w *fixture) latest(d schema.DeviceID, properties map[string]any) {
	properties["_fence"] = 7
	w.put("latest", latestPartition(d), string(d), properties)
}

func (w *fixture) check() Result {
	w.t.Helper()
	r := must.Have(w.config.Run(w.t.Context()))(w.t)
	return r
}

func TestCorrectOutputsHaveNoDifferences(t *testing.T) {
	w := newFixture(t)
	r := w.check()
	for _, d := range r.First {
		t.Error(d)
	}
	if r.Devices != 2 || r.Readings != 7 || r.Waiting != 1 || r.Lost+r.Doubled+r.Differences != 0 ||
		r.Buckets["1m"] != 4 || r.Latest != 6 || r.Rejected != 1 {
		t.Errorf("it finds %+v", r)
	}
	w.config.Receipts = nil
	if r := w.check(); r.Differences != 0 {
		t.Errorf("without receipts it finds %+v", r)
	}
}

func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	type planted struct {
		plant         func(w *fixture)
		want          string // in the differences, as text
		lost, doubled int
	}
	minute := func(d schema.DeviceID) string { return rollupPartition(d, "1m") }
	ten := string(pump) + "!" + at("10:00:00").String()
	for name, p := range map[string]planted{
		"a reading is lost from the raw table": {func(w *fixture) {
			w.send(pump, at("10:00:20").String(), `"t":3.0`)
		}, "it is absent, and should be there: the device was told", 1, 0},
		"a device is lost": {func(w *fixture) { w.send("ghost", at("10:00:20").String(), `"t":3.0`) },
			"fleet ghost: it is absent", 1, 0},
		"a reading is altered": {func(w *fixture) {
			w.put("readings", string(pump), at("12:30:00").String(), map[string]any{"t": 9.5})
		}, "it is another reading", 0, 0},
		"a reading was sent by nobody": {func(w *fixture) {
			w.put("readings", string(pump), at("12:40:00").String(), map[string]any{"t": 9.5})
		}, "no device has sent it", 0, 0},
		"a reading is not folded": {func(w *fixture) {
			w.send(pump, at("10:00:20").String(), `"t":2.0`)
			w.put("readings", string(pump), at("10:00:20").String(), map[string]any{"t": 2.0})
		}, "should be [count 3,", 1, 0},
		"a reading that its checkpoint has passed is not folded": {func(w *fixture) {
			w.put("partitionslive", month.String(), "contoso!"+string(pump),
				map[string]any{"LastReadRowKey": at("12:30:00").String()})
		}, "1m 2026-11-20T12:30:00Z t: it is absent", 1, 0},
		"a reading is folded twice": {func(w *fixture) {
			w.rollup(pump, "1m", "10:00:00", map[string]any{"t": "[3,6.5,1.5,2.5,1.5,2.5]"})
		}, "it is [count 3, sum 6.5", 0, 1},
		"a sum is wrong": {func(w *fixture) {
			w.rollup(lift, "1d", "00:00:00", map[string]any{"t": "[2,40.000001,20,20,20,20]"})
		}, "sum 40.000001", 0, 0},
		"a minimum is wrong": {func(w *fixture) {
			w.rollup(lift, "1h", "10:00:00", map[string]any{"t": "[2,40,19,20,20,20]"})
		}, "min 19", 0, 0},
		"a maximum is wrong": {func(w *fixture) {
			w.rollup(lift, "1h", "10:00:00", map[string]any{"t": "[2,40,20,21,20,20]"})
		}, "max 21", 0, 0},
		"a first is wrong": {func(w *fixture) {
			w.rollup(lift, "1h", "10:00:00", map[string]any{"t": "[2,40,20,20,21,20]"})
		}, "first 21", 0, 0},
		"a last is wrong": {func(w *fixture) {
			w.rollup(lift, "1h", "10:00:00", map[string]any{"t": "[2,40,20,20,20,21]"})
		}, "last 21", 0, 0},
		"a rollup cannot be read": {func(w *fixture) {
			w.rollup(lift, "1h", "10:00:00", map[string]any{"t": "[2,40]"})
		}, "should be an array of six numbers", 2, 0},
		"a bucket is missing": {func(w *fixture) { w.remove("rollups", minute(pump), ten) },
			"1m 2026-11-20T10:00:00Z t: it is absent", 2, 0},
		"a bucket has no readings": {func(w *fixture) {
			w.rollup(lift, "1m", "09:00:00", map[string]any{"t": "[1,1,1,1,1,1]"})
		}, "should be absent", 0, 1},
		"a sensor is missing": {func(w *fixture) {
			w.rollup(pump, "1h", "10:00:00", map[string]any{"t": "[3,0,-4,2.5,1.5,-4]", "air_p_0": "[1,7,7,7,7,7]"})
		}, "air_p_1: it is absent", 1, 0},
		"a bucket is in the wrong day": {func(w *fixture) {
			w.put("rollups", strings.Replace(minute(lift), day, "2026-11-21", 1), string(lift)+"!"+at("10:00:00").String(),
				map[string]any{"t": "[1,1,1,1,1,1]"})
		}, "!2026-11-21!", 0, 1},
		"a bucket is another tenant's": {func(w *fixture) {
			w.put("rollups", minute(lift), ten, map[string]any{"t": "[1,1,1,1,1,1]"})
		}, "the partition has no such device", 0, 0},
		"a partition belongs to no device": {func(w *fixture) {
			w.put("rollups", "contoso!1m!"+day+"!2026-04", ten, map[string]any{"t": "[1,1,1,1,1,1]"})
		}, "the partition of no device", 0, 0},
		"latest is stale": {func(w *fixture) {
			w.latest(lift, map[string]any{"t": newestText("09:59:00", "20")})
		}, "latest lift:2 t: it is 20 of", 0, 0},
		"latest has a wrong value": {func(w *fixture) {
			w.latest(lift, map[string]any{"t": newestText("10:00:00", `"20"`)})
		}, `latest lift:2 t: it is "20" of`, 0, 0},
		"latest has a value that nobody sent": {func(w *fixture) {
			w.latest(lift, map[string]any{"t": newestText("10:00:00", "20"), "lid": newestText("10:00:00", `"open"`)})
		}, "latest lift:2 lid", 0, 0},
		"latest is missing": {func(w *fixture) { w.remove("latest", latestPartition(lift), string(lift)) },
			"latest lift:2 t: it is absent", 0, 0},
		"latest cannot be read": {func(w *fixture) {
			w.latest(lift, map[string]any{"t": "20"})
		}, "an array of a time and a value", 0, 0},
		"latest has a device of another tenant": {func(w *fixture) {
			w.put("latest", latestPartition(lift), string(pump), map[string]any{"t": newestText("10:00:00", "20")})
		}, "the partition has no such device", 0, 0},
		"a reject is missing": {func(w *fixture) { w.remove("rejects", string(pump), "live!00") },
			"something of that row is to be rejected", 0, 0},
		"a reject has no reason": {func(w *fixture) { w.reject(pump, 1, "10:00:10") },
			"nothing of that row is to be rejected", 0, 0},
		"a reject is there twice":       {func(w *fixture) { w.reject(pump, 1, "11:30:00") }, "it is there twice", 0, 0},
		"a reject belongs to no device": {func(w *fixture) { w.reject("ghost", 0, "10:00:10") }, "rejects ghost", 0, 0},
		"a reject is not counted": {func(w *fixture) {
			w.put("partitionslive", month.String(), "contoso!"+string(pump),
				map[string]any{"LastReadRowKey": at("11:59:00").String()})
		}, "it is 0 rejected rows, and should be 1", 0, 0},
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
			if !strings.Contains(all, p.want) || r.Differences == 0 {
				t.Errorf("want %q; it finds %d differences:\n%s", p.want, r.Differences, all)
			}
			if r.Lost != p.lost || r.Doubled != p.doubled {
				t.Errorf("lost %d, doubled %d; want %d, %d", r.Lost, r.Doubled, p.lost, p.doubled)
			}
		})
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
