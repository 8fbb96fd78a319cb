package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/readings"
	"furrow/cmd/internal/tabular"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func read(t *testing.T, text string, columns readings.Columns) (*Recording, map[int]string) {
	t.Helper()
	wrong := map[int]string{}
	r, err := Read(strings.NewReader(text), Config{Columns: columns, Tenant: "acme", Name: "file", Now: now,
		Wrong: func(line int, err error) { wrong[line] = err.Error() }})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r, wrong
}

// played are all readings as text: device, time, and values in the order of their names.
func played(r *Recording) (all []string) {
	for _, m := range r.Members(0) {
		for s := range r.Sendings(m, 0) {
			line := fmt.Sprint(m.ID, " ", s.Reading.Time.Format(time.RFC3339Nano))
			for _, name := range slices.Sorted(maps.Keys(s.Reading.Values)) {
				line += fmt.Sprintf(" %s=%#v", name, s.Reading.Values[name])
			}
			all = append(all, line)
		}
	}
	return all
}

func TestAllFormsOfAFileGiveTheSameReadings(t *testing.T) {
	want := []string{
		`acme:a 2026-11-20T10:00:00Z hum=50 temp=21.5`,
		`acme:a 2026-11-20T10:00:00Z hum=50 temp=21.5`,
		`acme:a 2026-11-20T09:59:00Z hum=51 temp=-3`,
		`acme:b 2026-11-20T10:00:00.25Z temp=7`,
	}
	for name, text := range map[string]string{
		"csv": "device,time,temp,hum\na,2026-11-20T10:00:00Z,21.5,50\na,2026-11-20T10:00:00Z,21.5,50\na," +
			"2026-11-20T09:59:00Z,-3,51\nb,2026-11-20T10:00:00.25Z,7,\n",
		"semicolons, commas in numbers, Excel's mark, CRLF": "\ufeffTime;Device ID;temp;hum\r\n2026-11-20 " +
			"10:00:00;a;21,5;50\r\n2026-11-20 10:00:00;a;21,5;50\r\n\r\n2026-11-20 09:59;a;-3;51\r\n2026-11-20 " +
			"10:00:00.25;b;7;\r\n",
		"tabs and zones": "hum\ttemp\tnode\tts\n50\t21.5\ta\t2026-11-20 11:00:00 " +
			"+0100\n50\t21.5\ta\t2026-11-20T10:00:00Z\n51\t-3\ta\t2026/11/20 09:59\n\t7\tb\t2026-11-20T12:00:00.25+02:00\n",
		"seconds and so on": "id,epoch,temp,hum\na,1795168800,21.5,50\na,1795168800,21.5,50\na," +
			"1795168740,-3,51\nb,1795168800.25,7,\n",
		"quotes": "device,time,temp,hum\n\"a\",\"2026-11-20T10:00:00Z\",\"21.5\",50\na," +
			"2026-11-20T10:00:00Z,21.5,50\na,2026-11-20T09:59:00Z,-3,51\nb,2026-11-20T10:00:00.25Z,7,\"\"\n",
		"JSON": `{"device":"a","time":"2026-11-20T10:00:00Z","temp":21.5,"hum":50}` + "\n" +
			`{"hum":50,"temp":21.5,"time":"2026-11-20T10:00Z","device":"a"}` + "\n" +
			`{"device":"a","time":"20261120T095900Z","temp":-3,"hum":51}` + "\n" +
			`{"device":"b","time":"2026-11-20T10:00:00.25Z","temp":7,"hum":null}`,
		"long": "time,device,sensor,value\n2026-11-20T10:00:00Z,a,temp,21.5\n2026-11-20T10:00:00Z," +
			"a,hum,50\n2026-11-20T10:00:00Z,a,temp,21.5\n2026-11-20T10:00:00Z,a,hum,50\n2026-11-20T09:59:00Z,a,temp," +
			"-3\n2026-11-20T10:00:00.25Z,b,temp,7\n2026-11-20T09:59:00Z,a,hum,51\n",
		"long with a sensor_id": "timestamp,device_id,metric,value\n1795168800,a,temp,21.5\n1795168800,a,hum," +
			"50\n1795168800,a,temp,21.5\n1795168800,a,hum,50\n1795168740,a,temp,-3\n1795168800.25,b,temp,7\n1795168740,a,hum," +
			"51\n",
		"no names that anybody knows 1": "device,X,temp,hum\na,2026-11-20T10:00:00Z,21.5,50\na,2026-11-20T10:00:00Z,21.5," +
			"50\na,2026-11-20T09:59:00Z,-3,51\nb,2026-11-20T10:00:00.25Z,7,\n",
	} {
		for _, zipped := range []bool{false, true} {
			given := text
			if zipped {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, _ = z.Write([]byte(text))
				_ = z.Close()
				given = b.String()
			}
			r, wrong := read(t, given, readings.Columns{})
			if got := played(r); !slices.Equal(got, want) || len(wrong) > 0 {
				t.Errorf("%s: %v\n%s", name, wrong, strings.Join(got, "\n"))
			}
		}
	}
}

func TestInvalidLinesAreReportedAndTheOthersCount(t *testing.T) {
	r, wrong := read(t, "device,time,temp\n"+
		"a,2026-11-20T10:00:00Z,1\n"+
		"a,yesterday,2\n"+ // 3
		"a,03/04/2026 10:00,2\n"+
		",2026-11-20T10:01:00Z,2\n"+
		"a,2026-11-20T10:01:00Z,\n"+
		"a,2026-11-20T10:01:00Z\n"+ // 7
		"a,2026-11-20T10:0\"1:00Z,\"2\n"+
		"a/b,2026-11-20T10:01:00Z,2\n"+
		"a?b,2026-11-20T10:01:00Z,2\n"+ // 10
		"???,2026-11-20T10:01:00Z,2\n"+
		strings.Repeat("x", tabular.MaxLine+1)+"\n"+
		"a,2026-11-20T10:02:00Z,3", readings.Columns{})
	want := map[int]string{3: "not a time", 4: "may begin with the day", 5: "no device", 6: "no values", 7: "2 fields",
		8: "a quote", 10: "the same id", 11: "cannot name", 12: "longer than"}
	for line, text := range want {
		if !strings.Contains(wrong[line], text) {
			t.Errorf("line %d: %q, want %q", line, wrong[line], text)
		}
	}
	if len(wrong) != len(want) || r.Wrong != len(want) || r.Readings != 3 || r.Devices() != 2 {
		t.Errorf("%d wrong: %v; %d readings of %d devices", r.Wrong, wrong, r.Readings, r.Devices())
	}
	r, wrong = read(t,
		"{\"device\":\"a\",\"time\":1795168800,\"t\":1}\n{]\n[1]\nnull\n"+
			"{\"device\":{},\"time\":1795168800,\"t\":{\"x\":[1]}}\n",
		readings.Columns{})
	if len(wrong) != 4 || r.Readings != 1 {
		t.Errorf("%v, %v", wrong, played(r))
	}
}

func TestColumnsCanBeNamed(t *testing.T) {
	text := "device,time,who,taken,temp,hum,Druck (hPa),PartitionKey,1st\na,2020-01-01,x,2026-11-20,1,2,3,4,5\n"
	r, _ := read(t, text, readings.Columns{Device: "who", Time: []string{"taken"},
		Sensors: []string{"hum", "Druck (hPa)", "PartitionKey", "1st"}})
	if got := played(r); !slices.Equal(got,
		[]string{`acme:x 2026-11-20T00:00:00Z Druck__hPa_=3 PartitionKey_=4 _1st=5 hum=2`}) {
		t.Errorf("%q", got)
	}
	for _, c := range []readings.Columns{{Device: "x"}, {Time: []string{"x"}}, {Sensors: []string{"x"}}} {
		_, err := Read(strings.NewReader(text), Config{Columns: c, Tenant: "acme", Now: now})
		if err == nil || !strings.Contains(err.Error(), `no column "x" (the columns are device, time,`) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for text, want := range map[string]string{"": "file is empty", "a,b\n1,2\n": "looks like a time",
		"a,a\n": "no records", "time,x\nnow,1\n": "no format that is known"} {
		if _, err := Read(strings.NewReader(text), Config{Tenant: "acme", Now: now}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestConstantTextsAreLabelsAndPlacesArePositions(t *testing.T) {
	r, _ := read(t, "id,kind,state,lat,lon,site,time,temp\na,DHT,on,57.1,-2.1,north "+
		"wing,2026-11-20,1\nb,BME,on,,,,2026-11-20,2\na,DHT,off,57.1,-2.1,,2026-11-19,3\n", readings.Columns{})
	members := r.Members(time.Hour)
	a := members[0]
	if a.Labels["kind"] != "DHT" || len(a.Labels) != 1 || *a.Position != (schema.Position{Lat: 57.1, Lon: -2.1}) ||
		a.Site != "north-wing" ||
		!a.Deployed.Equal(time.Date(2026, 11, 19, 1, 0, 0, 0, time.UTC)) || members[1].Labels["kind"] != "BME" ||
		members[1].Position != nil {
		t.Errorf("%+v", members)
	}
	if got := played(r)[0]; got != `acme:a 2026-11-20T00:00:00Z state="on" temp=1` {
		t.Error(got)
	}
}

func TestWrongClocksDoNotShiftARecording(t *testing.T) {
	r, _ := read(t, "time,temp\n0,1\n2019-05-01,1\n2019-05-07,2\n1970-01-01T00:10:00Z,3\n2099-01-01,4\n2019-05-02,5\n",
		readings.Columns{})
	if !r.Oldest.Equal(time.Date(2019, 5, 1, 0, 0, 0, 0, time.UTC)) ||
		!r.Newest.Equal(time.Date(2019, 5, 7, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("from %s to %s", r.Oldest, r.Newest)
	}
	shift := now.Sub(r.Newest)
	m := r.Members(shift)[0]
	if m.ID != "acme:file" {
		t.Errorf("the only device is %s", m.ID)
	}
	var last time.Time
	for s := range r.Sendings(m, shift) {
		if s.Due.Before(last) || s.Due.After(now) {
			t.Errorf("%v is due at %s, after one of %s", s.Reading, s.Due, last)
		}
		last = s.Due
	}
	if !last.Equal(now) {
		t.Errorf("the last is due at %s", last)
	}
	if r, _ = read(t, "time,temp\n2099-01-01,4\n", readings.Columns{}); r.Newest.Year() != 2099 {
		t.Errorf("a file of the future ends in %s", r.Newest)
	}
}

// TestRealWeekIsRead reads a week of real readings, which lies beside the project.
func TestRealWeekIsRead(t *testing.T) {
	f, err := os.Open("../../../../../shared/data/aberdeen_climate_week.csv.gz")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real readings are not on this machine")
	}
	must.Succeed(t, err)
	defer f.Close()
	began := time.Now()
	r := must.Have(Read(f, Config{Tenant: "aberdeen", Now: now}))(t)
	t.Logf("read in %v", time.Since(began))
	values, members := 0, r.Members(0)
	for _, m := range members {
		if m.Position == nil || m.Labels["sensor_type"] == "" {
			t.Errorf("%+v", m)
		}
		for s := range r.Sendings(m, 0) {
			values += len(s.Reading.Values)
		}
	}
	if r.Readings != 86_406 || r.Wrong != 0 || len(members) != 23 || values < 2*r.Readings ||
		r.Oldest.Format(time.DateOnly) != "2019-05-01" || r.Newest.Format(time.DateOnly) != "2019-05-07" {
		t.Errorf("%d readings with %d values of %d devices, %d wrong, from %s to %s", r.Readings, values, len(members),
			r.Wrong, r.Oldest, r.Newest)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("device,time,temp\na,2026-11-20T10:00:00Z,1\na,1e300,2\n")
	f.Add("time;device;sensor;value\n1795168800;a;x;1,5\n")
	f.Add("{\"id\":\"a\",\"time\":1,\"t\":{\"x\":1}}\n{\"id\":\"a\",\"time\":\"1970-01-01\",\"\":\"x\"}")
	f.Add("\ufeffts\t\"a\"\n-62135596800\t9\n253402300799\t1e5\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(strings.NewReader(text), Config{Tenant: "acme", Name: "file", Now: now})
		if err != nil {
			return
		}
		n := 0
		shift := now.Sub(r.Newest)
		for _, m := range r.Members(shift) {
			must.Have(schema.ParseDeviceID(string(m.ID)))(t)
			if _, err := schema.ParseSite(string(m.Site)); m.Site != "" && err != nil {
				t.Fatal(err)
			}
			for s := range r.Sendings(m, shift) {
				n++
				for name := range s.Reading.Values {
					e := tables.Entity{PartitionKey: "p", RowKey: "r",
						Properties: []tables.Property{{Name: name, Value: tables.Boolean(true)}}}
					if err := e.Check(); err != nil {
						t.Fatalf("%q: %v", name, err)
					}
				}
			}
		}
		if n != r.Readings || r.Oldest.After(r.Newest) {
			t.Fatalf("%d of %d readings are played, from %s to %s", n, r.Readings, r.Oldest, r.Newest)
		}
	})
}

func TestCommentLinesAreSkipped(t *testing.T) {
	for _, text := range []string{
		"# made by a logger\n\ndevice,time,temp\n# new battery, no gap\na,2026-11-20T10:00:00Z,1\n",
		"#device,time,temp\na,2026-11-20T10:00:00Z,1\n",
		"# made by a logger\n{\"device\":\"a\",\"time\":\"2026-11-20T10:00:00Z\",\"temp\":1}\n# the end\n",
	} {
		r, wrong := read(t, text, readings.Columns{})
		if got := played(r); len(wrong) > 0 || !slices.Equal(got, []string{"acme:a 2026-11-20T10:00:00Z temp=1"}) {
			t.Errorf("%q: %v, %q", text, wrong, got)
		}
	}
}

func TestDeviceOfAnObjectCanBeNamed(t *testing.T) {
	text := `{"deviceInfo":{"devEui":"24e1","tenant":{"id":7}},"time":"2026-11-20T10:00:00Z","temp":1}
{"deviceInfo":{"devEui":"24e2","tenant":{"id":7}},"time":"2026-11-20T10:00:00Z","temp":2}
{"deviceInfo":{"name":"x"},"time":"2026-11-20T10:00:00Z","temp":3}
`
	r, wrong := read(t, text, readings.Columns{Device: "deviceInfo.devEui", Sensors: []string{"temp"}})
	if got := played(r); !slices.Equal(got, []string{"acme:24e1 2026-11-20T10:00:00Z temp=1",
		"acme:24e2 2026-11-20T10:00:00Z temp=2"}) || wrong[3] != "no device" {
		t.Errorf("%v, %q", wrong, got)
	}
}

func TestColumnsThatBecomeLabelsAreNamed(t *testing.T) {
	r, _ := read(t, "device,time,temp,model,door\na,2026-11-20T10:00:00Z,1,M1,open\na,2026-11-20T10:01:00Z,1,M1,shut\n",
		readings.Columns{})
	if got := r.Labels(); !slices.Equal(got, []string{"model"}) {
		t.Errorf("the labels are %q", got)
	}
}
