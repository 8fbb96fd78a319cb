package readings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
	"furrow/tables/azuretest/must"
)

// rowsOf reads a file, and returns its rows as text: device, time, and values by their names.
func rowsOf(t *testing.T, in File, c Columns) (rows []string, wrong map[int]string, err error) {
	t.Helper()
	wrong = map[int]string{}
	r, err := Open(in, c)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, wrong, nil
		}
		if line, is := errors.AsType[*tabular.LineError](err); is {
			wrong[row.Line] = line.Error()
			continue
		}
		if err != nil {
			return rows, wrong, err
		}
		text := row.Device + " " + moment(row.Time)
		if row.Key != "" {
			text += " " + row.Key
		}
		values := []string{}
		for _, v := range slices.Concat(row.Values, row.About) {
			values = append(values, fmt.Sprintf("%s=%#v", r.Sensors()[v.Sensor], v.Value))
		}
		slices.Sort(values)
		rows = append(rows, strings.Join(append([]string{text}, values...), " "))
	}
}

func format(name string) times.Format { f, _ := times.Named(name); return f }

// TestCasesComeInAsTheyAreMeant reads files that people have.
func TestCasesComeInAsTheyAreMeant(t *testing.T) {
	one := Columns{OneDevice: true}
	for _, c := range []struct {
		file    string
		columns Columns
		want    []string // rows; or what an error has, after an exclamation mark
		wrong   map[int]string
	}{
		{"r01-iso.csv", Columns{}, []string{"ms 2025-01-01T00:00:00.123Z temp=1"}, nil},
		{"r01-epoch-ms.csv", Columns{}, []string{"ms 2025-01-01T00:00:00.123Z temp=1"}, nil},
		{"r01-epoch-ns.csv", Columns{}, []string{"ms 2025-01-01T00:00:00.123Z temp=1"}, nil},
		{"r02-adafruit-io.csv", one, []string{
			` 2025-01-01T00:00:00Z feed_id=2.400001e+06 id="0FA1" value=21.5`,
			` 2025-01-01T00:01:00Z feed_id=2.400001e+06 id="0FA2" value=21.6`,
			` 2025-01-01T00:02:00Z feed_id=2.400001e+06 id="0FA3" value=21.7`}, nil},
		{"r02-adafruit-io.csv", Columns{}, []string{`!--device-column "id" (its values never repeat)`}, nil},
		{"r02-row-number.csv", Columns{}, []string{`!--device-column "id" (its values never repeat)`}, nil},
		{"r02-row-number.csv", one, []string{" 2025-01-01T00:00:00Z id=1 temp=1", " 2025-01-01T00:01:00Z id=2 temp=2",
			" 2025-01-01T00:02:00Z id=3 temp=3"}, nil},
		{"r03-dwd-10min.txt", Columns{Device: "STATIONS_ID", Time: []string{"MESS_DATUM"}}, []string{
			`379 2023-01-12T00:00:00Z PP_10=-999 QN=2 RF_10=82.6 TD_10=2.4 TM5_10=2.5 TT_10=5.1 eor="eor"`,
			`379 2023-01-12T00:10:00Z PP_10=-999 QN=2 RF_10=82.9 TD_10=2.4 TM5_10=2.5 TT_10=5 eor="eor"`}, nil},
		{"r03-azure-table-export.csv", Columns{Device: "PartitionKey", Time: []string{"RowKey"}}, []string{
			"pump-9 2025-01-01T00:00:00Z 0638712864000000000 temperature=21.5",
			"pump-9 2025-01-01T00:01:00Z 0638712864600000000 temperature=21.6"}, nil},
		{"r03-azure-table-export.csv", Columns{}, []string{
			"pump-9 2025-01-01T00:00:00Z 0638712864000000000 temperature=21.5",
			"pump-9 2025-01-01T00:01:00Z 0638712864600000000 temperature=21.6"}, nil},
		{"r03-filetime.csv", Columns{}, []string{"x 2019-01-17T18:50:17.3139818Z temp=1"}, nil},
		{"r03-excel-serial.csv", Columns{}, []string{`!--time-format "excel" (it is 2024-01-01T12:00:00Z)`}, nil},
		{"r03-excel-serial.csv", Columns{Format: format("excel")}, []string{"x 2024-01-01T12:00:00Z temp=1"}, nil},
		{"r03-seconds-from-start.csv", one, []string{`!--time-format "seconds since`}, nil},
		{"r03-seconds-from-start.csv", Columns{OneDevice: true, Format: format("seconds since 2025-01-01T00:00:00Z")},
			[]string{" 2025-01-01T00:00:00Z hum=2 temp=1", " 2025-01-01T00:00:00.1Z hum=2 temp=1"}, nil},
		{"r07-influx-annotated.csv", Columns{}, influxRows(), nil},
		{"r07-influx-annotated-stripped.csv", Columns{}, influxRows(), nil},
		{"r08-no-header.csv", one, []string{"!looks like data"}, nil},
		{"r08-no-header.csv", Columns{OneDevice: true, File: tabular.Options{Header: []string{"time", "temp", "hum"}}},
			[]string{" 2025-01-01T00:00:00Z hum=40 temp=21.5", " 2025-01-01T00:01:00Z hum=41 temp=21.6",
				" 2025-01-01T00:02:00Z hum=42 temp=21.7"}, nil},
		{"r09-leading-zero.csv", Columns{}, []string{
			`z 2025-01-01T00:00:00Z code="0042" serial="9876543210987654321"`}, nil},
		{"r10-named-zone.csv", Columns{}, []string{"x 2025-11-21T13:00:00Z temp=1"}, nil},
		{"r11-long-quality.csv", Columns{}, []string{`q1 2025-01-01T00:00:00Z quality="good" temp=21.5 unit="C"`,
			`q1 2025-01-01T00:01:00Z quality="bad" temp=999 unit="C"`}, nil},
		{"r14-missing.csv", Columns{}, []string{"n1 2025-01-01T00:00:00Z temp=21.5", "n1 2025-01-01T00:01:00Z hum=-9999",
			"n1 2025-01-01T00:02:00Z hum=40", "n1 2025-01-01T00:04:00Z hum=41"}, map[int]string{5: "no values"}},
		{"r15-latin1.csv", Columns{}, []string{`!--encoding "windows-1252"`}, nil},
		{"r15-latin1.csv", Columns{File: tabular.Options{Encoding: "latin1"}},
			[]string{`k1 2025-02-01T10:00:00Z Ort="Küche" Temperatur___C_=21.5`}, nil},
		{"r15-utf16.csv", Columns{}, []string{"a 2025-01-01T00:00:00Z temp=21.5"}, nil},
		{"r15-cr-only.csv", Columns{}, []string{"a 2025-01-01T00:00:00Z temp=1", "a 2025-01-02T00:00:00Z temp=2"}, nil},
		{"r16-duplicate-name.csv", Columns{}, []string{"a 2025-01-01T00:00:00Z temp=1 temp_2=2"}, nil},
		{"r16-empty-names.csv", Columns{}, []string{"a 2025-01-01T00:00:00Z temp=1"}, nil},
		{"r16-trailing-comma.csv", Columns{}, []string{"a 2025-01-01T00:00:00Z temp=1", "a 2025-01-02T00:00:00Z temp=2"},
			nil},
		{"r16-preamble.csv", one, []string{`!--skip "1"`}, nil},
		{"r16-preamble.csv", Columns{OneDevice: true, File: tabular.Options{Skip: 1}},
			[]string{` 2023-05-15T00:00:00Z Status="Missing day"`}, nil},
		{"r16-toa5.dat", one, []string{" 2025-01-01T00:10:00Z BattV_Avg=12.9 RECORD=0 RH=88.1",
			" 2025-01-01T00:20:00Z AirTC_Avg=3.21 BattV_Avg=12.9 RECORD=1 RH=87.9"}, nil},
		{"r17-times.csv", Columns{}, []string{"tf 2025-01-01T00:00:00Z temp=1", "tf 2025-01-01T00:00:00Z temp=1",
			"tf 2025-01-01T00:00:00Z temp=1", "tf 2025-01-01T08:30:00Z temp=1", "tf 2025-01-02T00:00:00Z temp=1",
			"tf 2025-07-01T00:00:00Z temp=1"}, map[int]string{6: "--time-format", 7: "--time-format", 8: "--time-format"}},
		{"r17-two-columns.csv", Columns{OneDevice: true, Time: []string{"date", "time"}},
			[]string{" 2025-01-01T08:30:05Z temp=21.5", " 2025-01-01T08:31:05Z temp=21.6"}, nil},
		{"r17-two-columns.csv", one, []string{" 2025-01-01T08:30:05Z temp=21.5", " 2025-01-01T08:31:05Z temp=21.6"}, nil},
		{"r17-uscrn.csv", one, []string{" 2025-01-01T00:05:00Z temp=21.5", " 2025-01-01T00:10:00Z temp=21.6"}, nil},
		{"r19-quoted-decimal-comma.csv", Columns{}, []string{"dk 2025-01-01T00:00:00Z load=1234.5 temp=21.5"}, nil},
		{"r19-tab-decimal-comma.tsv", Columns{}, []string{"dt 2025-01-01T10:00:00Z temp=21.5"}, nil},
		{"r21-telegraf.jsonl", Columns{Device: "host"}, []string{"h1 2025-01-01T00:00:00Z cpu_usage=1",
			"h2 2025-01-01T00:00:00Z cpu_usage=9"}, nil},
		{"r21-telegraf.jsonl", Columns{NeedsDevice: true}, []string{`!--device-column "host"`}, nil},
		{"r24-array.json", Columns{}, []string{"ja 2025-01-01T00:00:00Z t=1", "ja 2025-01-01T00:01:00Z t=2"}, nil},
		{"r24-nested-time.jsonl", Columns{Device: "end_device_ids.device_id",
			Time: []string{"uplink_message.settings.time"}}, []string{"ttn-1 2025-01-01T00:00:00Z " +
			`received_at="2025-01-01T00:00:02.123456789Z" ` +
			`uplink_message="{\"decoded_payload\":{\"t\":1},\"received_at\":\"2025-01-01T00:00:01Z\"}"`}, nil},
		{"r24-multiline.csv", Columns{}, []string{`dm 2025-01-01T00:00:00Z note="line one\nline two" temp=21.5`,
			`dm 2025-01-01T00:01:00Z note="ok" temp=21.6`}, nil},
		{"r25-bool-rle.parquet", one, slices.Repeat([]string{"true"}, 16), nil},
		{"r26-list.parquet", Columns{}, []string{`cmp-list-pq 2025-03-30T01:00:00Z l="[0,null,2]" ` +
			`ll="[[\"a\",\"b\"],[\"c\"]]" m="{\"k1\":null,\"k2\":5}" ` +
			`sl="[{\"t\":1,\"h\":null},{\"t\":2,\"h\":50}]"`}, nil},
		{"r26-list.jsonl", Columns{}, []string{`cmp-list 2025-03-30T01:00:00Z l="[0,null,2]" ` +
			`ll="[[\"a\",\"b\"],[\"c\"]]" m="{\"k1\":null,\"k2\":5}"`}, nil},
		{"r27-calendar.csv", Columns{}, nil, map[int]string{2: "outside the years 1990 to 2100"}},
		{"r28-year-one.csv", Columns{}, []string{"t-minvalue 2026-01-31T00:00:00Z v=1"},
			map[int]string{3: "outside the years"}},
		{"r29-minus.csv", Columns{Sensors: []string{"Pressure"}}, []string{"c2-sv-SE 2026-01-31T13:05:07Z Pressure=0",
			"c2-sv-SE 2026-01-31T13:06:07Z Pressure=-0.25", "c2-sv-SE 2026-01-31T13:07:07Z Pressure=-0.5",
			"c2-sv-SE 2026-01-31T13:08:07Z Pressure=-0.75"}, nil},
		{"r30-empty-group.parquet", Columns{}, []string{"v=0.5", "v=1.5", "v=2.5", "v=0.5", "v=1.5"}, nil},
		{"r31-binary.parquet", Columns{}, []string{`bin="MTI="`, `bin="AA=="`, `bin="ICA="`}, nil},
		{"r37-nan-inf.parquet", Columns{}, []string{"nan-1 2025-11-20T00:00:00Z hum=50 temp=21.5",
			"nan-1 2025-11-20T00:01:00Z hum=51"}, map[int]string{3: "column hum: an infinity is no value",
			4: "column hum: an infinity is no value"}},
		{"r38-int96-padded.parquet", one, []string{" 2025-01-01T00:00:00Z temp=1.5", " 2025-01-01T01:00:00Z temp=2.5",
			" 2025-01-01T02:00:00Z temp=3.5"}, nil},
		{"r41-delta-fixed.parquet", one, []string{" 2025-01-01T00:00:00Z dec=1.25", " 2025-01-01T02:00:00Z dec=-3.5"},
			map[int]string{2: "no values"}},
		{"r42-duration.parquet", one, []string{" 2025-01-01T00:00:00Z run=90", " 2025-01-01T02:00:00Z run=3600"},
			map[int]string{2: "no values"}},
		{"r43-arrow-schema.parquet", one, []string{" 2025-01-01T00:00:00Z v=1.5"}, nil},
		{"r32-encrypted.parquet", Columns{}, []string{"!encrypted"}, nil},
		{"r33-sql-time.csv", Columns{}, []string{"t-sql 2026-01-31T12:05:07.1234567Z v=1"}, nil},
		{"r34-sep-line.csv", Columns{Sensors: []string{"Pressure", "Note"}}, []string{
			`c2-sep 2026-01-31T13:05:07Z Note="a;b,c\"d" Pressure=0`, "c2-sep 2026-01-31T13:06:07Z Pressure=-0.25",
			`c2-sep 2026-01-31T13:07:07Z Note="n2" Pressure=-0.5`, `c2-sep 2026-01-31T13:08:07Z Note="n3" Pressure=-0.75`}, nil},
		{"r35-interval.parquet", Columns{}, []string{"!is an INTERVAL"}, nil},
		{"r39-lz4-legacy.parquet", Columns{}, []string{"!codec LZ4"}, nil},
		{"r40-pandas-index.csv", Columns{}, []string{"d-1 2025-01-01T00:00:00Z temp=1.5", "d-2 2025-01-01T01:00:00Z temp=2.5",
			"d-1 2025-01-01T02:00:00Z temp=3.5"}, nil},
		{"r44-feather.arrow", Columns{}, []string{"!a Feather or Arrow file"}, nil},
		{"r45-null-row.csv", Columns{}, []string{"d-1 2025-01-01T00:00:00Z hum=40 temp=1.5",
			"d-1 2025-01-01T02:00:00Z temp=2.5"},
			map[int]string{3: "no values"}},
		{"r46-position.csv", Columns{}, []string{"d-1 2025-01-01T00:00:00Z temp=1.5", "d-1 2025-01-01T01:00:00Z temp=2.5"},
			nil},
	} {
		in := must.Have(os.Open(filepath.Join("testdata", "cases", c.file)))(t)
		rows, wrong, err := rowsOf(t, in, c.columns)
		must.Succeed(t, in.Close())
		if len(c.want) == 1 && c.want[0][0] == '!' {
			if err == nil || !strings.Contains(err.Error(), c.want[0][1:]) {
				t.Errorf("%s: %v and %q, want %s", c.file, err, rows, c.want[0])
			}
			continue
		}
		same := slices.EqualFunc(rows, c.want, func(got, want string) bool {
			return got == want || !strings.Contains(want, " ") && strings.Contains(got, want)
		})
		if err != nil || !same || len(wrong) != len(c.wrong) {
			t.Errorf("%s: %v, %v\n%s\nwant\n%s", c.file, err, wrong, strings.Join(rows, "\n"), strings.Join(c.want, "\n"))
		}
		for line, text := range c.wrong {
			if !strings.Contains(wrong[line], text) {
				t.Errorf("%s: line %d: %q, want %q", c.file, line, wrong[line], text)
			}
		}
	}
}

// TestFormsThatProgramsWriteAreKnown reads small files in the forms of their programs.
func TestFormsThatProgramsWriteAreKnown(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns Columns
		want    []string
	}{
		{`{"temp":[{"ts":1735689600000,"value":"21.5"},{"ts":1735689660000,"value":"21.6"}],"door":[{"ts":1735689600000,` +
			`"value":"open"}]}`, Columns{OneDevice: true}, []string{` 2025-01-01T00:00:00Z door="open"`,
			" 2025-01-01T00:00:00Z temp=21.5", " 2025-01-01T00:01:00Z temp=21.6"}},
		{`{"deviceInfo":{"devEui":"24e1","deviceName":"x"},"time":"2025-01-01T00:00:00Z","object":{"t":1}}`,
			Columns{NeedsDevice: true}, []string{`24e1 2025-01-01T00:00:00Z deviceInfo="{\"deviceName\":\"x\"}" ` +
				`object="{\"t\":1}"`}},
		{"weather,site=us,device=a temperature=82,ok=true,note=\"a b\" 1735689600000000000\n", Columns{},
			[]string{`a 2025-01-01T00:00:00Z weather_note="a b" weather_ok=true weather_temperature=82`}},
		{`m,host=a p="C:\temp",q="a\d",r="x\"y\\z",s="" 1735689600000000000` + "\n" + `m,host=a s="b" 1735689600000000000`,
			Columns{}, []string{`a 2025-01-01T00:00:00Z m_p="C:\\temp" m_q="a\\d" m_r="x\"y\\z" m_s=""`,
				`a 2025-01-01T00:00:00Z m_s="b"`}},
		{`{"device":"d","row":"0624824064000000000-a","values":{"t":1}}`, Columns{},
			[]string{"d 1980-12-28T00:00:00Z 0624824064000000000-a t=1"}},
		{"\"date\",\"t\"\n\"1\",\"2015-02-04 17:51:00\",23.18\n\"2\",\"2015-02-04 17:51:59\",23.15\n",
			Columns{OneDevice: true}, []string{" 2015-02-04T17:51:00Z t=23.18", " 2015-02-04T17:51:59Z t=23.15"}},
		{"entity_id,state,last_changed\ns.t,21.5,2025-01-01T00:00:00Z\ns.t,unavailable,2025-01-01T00:01:00Z\n",
			Columns{NeedsDevice: true}, []string{"s.t 2025-01-01T00:00:00Z state=21.5"}},
		{"Date;Time;power\n16/12/2006;17:24:00;4.216\n16/12/2006;17:25:00;?\n", Columns{OneDevice: true},
			[]string{" 2006-12-16T17:24:00Z power=4.216"}},
		{"device,time,v\nd,2025-01-01,\"1,234\"\n", Columns{}, []string{`!--decimal ","`}},
		{"device,time,v\nd,2025-01-01,1.234\nd,2025-01-02,\"1,234\"\n", Columns{}, []string{`!--decimal ","`}},
		{"device,time,v\nd,1/2/2025,1\n", Columns{}, []string{`!--time-format "dmy"`}},
		{"device,time,v\nd,2025010100,1\n", Columns{}, []string{`!--time-format "iso"`}},
		{"device;time;a;b\nd;01.01.2025;1,5;1.234\n", Columns{}, []string{`!column b`}},
		{"station,time,tmp\n1,2025-01-01T00:15:00,\"+0105,1\"\n1,2025-01-01T00:35:00,\"-0012,5\"\n", Columns{},
			[]string{`1 2025-01-01T00:15:00Z tmp="+0105,1"`, `1 2025-01-01T00:35:00Z tmp="-0012,5"`}},
		{"device,date,hour,t\nd,2025-01-01,0,1\nd,2025-01-01,1,2\n", Columns{}, []string{`!--time-column "date"`}},
		{"device,datetime,tz_cd,t\nd,2025-01-01 00:00,EST,1\n", Columns{},
			[]string{`!column tz_cd says "EST": decide with --zone`}},
		{"Tag,Timestamp,Value\na,05-Jan-2025 08:00:00,1\nb,05-Jan-2025 08:00:00,2\n", Columns{OneDevice: true},
			[]string{" 2025-01-05T08:00:00Z a=1", " 2025-01-05T08:00:00Z b=2"}},
	} {
		rows, wrong, err := rowsOf(t, strings.NewReader(c.text), c.columns)
		slices.Sort(rows)
		if refused := c.want[0][0] == '!'; refused && (err == nil || !strings.Contains(err.Error(), c.want[0][1:])) ||
			!refused && (err != nil || !slices.Equal(rows, c.want)) {
			t.Errorf("%s\n%v, %v\n%q\nwant\n%q", c.text, err, wrong, rows, c.want)
		}
	}
}

// TestLZ4RawHasTheValuesThatOthersRead reads a file that parquet-go reads as zeros.
func TestLZ4RawHasTheValuesThatOthersRead(t *testing.T) {
	in := must.Have(os.Open("testdata/cases/r04-lz4raw-required.parquet"))(t)
	defer in.Close()
	rows, wrong, err := rowsOf(t, in, Columns{})
	if err != nil || len(wrong) > 0 || len(rows) != 1000 || rows[0] != "lz-1 2025-01-01T00:00:00Z hum=40 temp=20" ||
		rows[999] != "lz-1 2025-01-01T00:16:39Z hum=45 temp=20.9" {
		t.Errorf("%d rows, %v, %v: %q", len(rows), wrong, err, rows[max(0, len(rows)-1):])
	}
}

// TestAPlanSaysWhatWasUnderstood of a file with misfits, missing values, odd positions, a duration and no zone.
func TestAPlanSaysWhatWasUnderstood(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"", "device;time;temp;Druck (hPa);lat;lon\nd1;2025-01-02 08:00;1,5;NA;91;1\nd1;2025-01-01 08:00;error;7;2;\n" +
			"d1;2025-01-03 08:00;2,5;8;;\n", `csv, UTF-8 ";" device=device time=time iso UTC true ` +
			"first 2025-01-02T08:00:00Z earliest 2025-01-01T08:00:00Z latest 2025-01-03T08:00:00Z " +
			"temp:temp:number:3:1:0 Druck (hPa):Druck__hPa_:number:2:0:1 lat::number:2:2:0 lon::number:1:2:0 " +
			"[column Druck (hPa) is the sensor Druck__hPa_] 3"},
		{"r42-duration.parquet", "", ` device= time=t`},
	} {
		in := File(strings.NewReader(c.text))
		if c.file != "" {
			in = must.Have(os.Open("testdata/cases/" + c.file))(t)
		}
		r := must.Have(Open(in, Columns{}))(t)
		p := r.Plan
		must.Succeed(t, r.Close())
		got := fmt.Sprintf("%s, %s %q device=%s time=%s %s %s %v", p.Format, p.Encoding, p.Separator, p.Device, p.Time,
			p.TimeForm, p.Zone, p.ZoneGuess)
		for _, at := range p.Times {
			got += " " + at.Which + " " + at.UTC
		}
		for _, column := range p.Columns {
			if column.Column != p.Device && column.Column != p.Time {
				got += fmt.Sprintf(" %s:%s:%s:%d:%d:%d", column.Column, column.Sensor, column.Type, column.Values, column.Misfits,
					column.Missing)
			}
		}
		got += fmt.Sprint(" ", p.Notes, " ", len(p.Rows))
		if c.file != "" {
			c.want, got = "run is a duration", strings.Join(p.Notes, " ")
			if strings.Contains(got, c.want) {
				continue
			}
		}
		if got != c.want {
			t.Errorf("%q\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

func influxRows() []string {
	return []string{"d-1 2025-01-01T00:00:10Z temp=21.5", "d-1 2025-01-01T00:00:10Z hum=45",
		`d-2 2025-01-01T00:00:10Z door="open"`}
}
