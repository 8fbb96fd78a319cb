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

	"furrow/tables/azuretest/must"
)

// TestOddValuesAreReadAsTheyAreOrRefused has files in which something is easily taken for something else.
func TestOddValuesAreReadAsTheyAreOrRefused(t *testing.T) {
	one := Columns{OneDevice: true}
	const at, later = " 2025-01-01T00:00:00Z", " 2025-01-01T00:01:00Z"
	for name, c := range map[string]struct {
		text  string
		want  []string // rows; or what an error has, after an exclamation mark
		wrong []int    // lines
		notes string   // and the first misfit of each column
	}{
		"a point among decimal commas": {"time;v\n2025-01-01;1,5\n2025-01-01;1.234,5\n2025-01-01;1.5\n",
			[]string{at + " v=1.5", at + " v=1234.5", at + ` v="1.5"`}, nil, "1.5"},
		"a comma among decimal points": {"time;v\n2025-01-01;1.5\n2025-01-01;2.5\n2025-01-01;1,5\n",
			[]string{at + " v=1.5", at + " v=2.5", at + ` v="1,5"`}, nil, "1,5"},
		"addresses": {"time,ip,v\n2025-01-01,192.168.178.123,\"1,234\"\n2025-01-01,192.168.178.124,1\n",
			[]string{"!the comma or point in numbers of column v, such as 1,234"}, nil, ""},
		"lines that are all too short": {"time,v,w\n2025-01-01,1\n2025-01-02,2\n",
			[]string{"!line 2: the line has 2 fields, the header has 3"}, nil, ""},
		"lines within quotes": {"\"time,v\"\n\"2025-01-01 00:00:00,1\"\n\"2025-01-02 00:00:00,2\"\n",
			[]string{"!no column is left for a sensor (the columns are time,v)"}, nil, ""},
		"errors of Excel, and nulls of databases": {"time;v;w\n2025-01-01;1,5;#NV\n2025-01-01;#DIV/0!;2\n" +
			"2025-01-01;\\N;#NAME?\n2025-01-01;2,5;\\N\n", []string{at + " v=1.5", at + " w=2", at + " v=2.5"}, []int{4}, ""},
		"types beside values, as the Table service answers": {
			`{"PartitionKey":"","RowKey":"0638712864000000000","n":"12","n@odata.type":"Edm.Int64","s":"13"}` + "\n" +
				`{"RowKey":"0638712864600000000","n":"NaN","n@odata.type":"Edm.Double","s":"x"}`,
			[]string{at + ` 0638712864000000000 n=12 s="13"`, later + ` 0638712864600000000 s="x"`}, nil, ""},
		"a header alone": {"time,v\n", []string{"!the file has no records"}, nil, ""},
		"an address beside decimals": {"time,ip,v\n2025-01-01,192.168.178.123,1.5\n",
			[]string{at + ` ip="192.168.178.123" v=1.5`}, nil, ""},
		"thousands, and one that may be an address": {"time;v\n2025-01-01;12.145.178.101\n2025-01-01;12.145.178.301\n",
			[]string{at + " v=1.2145178101e+10", at + " v=1.2145178301e+10"}, nil, ""},
		"long digits with decimals": {"time,v\n2025-01-01,123456789012345678.5\n2025-01-01,2\n",
			[]string{at + ` v="123456789012345678.5"`, at + ` v="2"`}, nil, ""},
		"a number that no double holds": {`{"time":"2025-01-01","v":1.5e400}` + "\n" + `{"time":"2025-01-01","v":1E5}`,
			[]string{at + ` v="1.5e400"`, at + " v=100000"}, nil, "1.5e400"},
		"an empty text of a sensor of texts": {`{"time":"2025-01-01","s":"","n":"","b":""}` + "\n" +
			`{"time":"2025-01-01","s":"a","n":5,"b":true}` + "\n" + `{"time":"2025-01-01","s":null,"n":""}`,
			[]string{at + ` s=""`, at + ` b=true n=5 s="a"`}, []int{3}, ""},
		"a time of day in a column of another name": {"Datum;Uhrzeit;v\n01.01.2025;00:00;1\n31.12.2024;23:50;2\n",
			[]string{at + " v=1", " 2024-12-31T23:50:00Z v=2"}, nil, ""},
		"what may be a time of day": {"date,sunrise,v\n2025-01-01,08:10,1\n2025-01-02,08:11,2\n",
			[]string{`!--time-column "date" (days alone) or "date,sunrise"`}, nil, ""},
		"days and months in both orders": {"time,v\n13/01/2025,1\n01/14/2025,2\n02/03/2025,3\n",
			[]string{`!--time-format "dmy"`}, nil, ""},
		"a longitude without a latitude": {"time,long,v\n2025-01-01,17,1\n", []string{at + " long=17 v=1"}, nil, ""},
		"a name beside tags of InfluxQL": {"name,tags,time,value\ncpu,host=a,1735689600,1\ncpu,host=b,1735689660,2\n",
			[]string{at + ` name="cpu" tags="host=a" value=1`, later + ` name="cpu" tags="host=b" value=2`}, nil, ""},
		"invalid lines before the first record": {"{\"time\":\"2025-01-01\",\"v\":1,\"v\":2}\nx\n" +
			`{"time":"2025-01-01","v":1}`, []string{at + " v=1"}, []int{1, 2}, ""},
		"invalid lines alone": {`{"time":"2025-01-01","v":1}{"time":"2025-01-01","v":2}`,
			[]string{"!line 1: not a JSON object"}, nil, ""},
		"a column that is called as the second of a name": {"time,v,v_2,v,column6,\n2025-01-01,1,2,3,4,5\n",
			[]string{at + " column6=4 column6_2=5 v=1 v_2=2 v_3=3"}, nil, ""},
		"a sensor that is called as a column": {"time,sensor,value,quality\n2025-01-01,temp,21,ok\n" +
			"2025-01-01,quality,5,ok\n",
			[]string{at + ` quality_2="ok" temp=21`, at + ` quality=5 quality_2="ok"`}, nil, ""},
		"arrays one after another": {`[{"time":"2025-01-01","v":1}]` + "\n[]" + `[{"time":"2025-01-01","v":2}] ` +
			`{"time":"2025-01-01","v":3} [4]`, []string{at + " v=1", at + " v=2", at + " v=3"}, []int{4}, ""},
		"something behind an array": {`[{"time":"2025-01-01","v":1}] end`, []string{"!object 2: not JSON"}, nil, ""},
		"a cell that begins like a comment": {"tag,time,v\n#A,2025-01-01,1\nB,2025-01-01,2\n",
			[]string{at + ` tag="B" v=2`}, nil, "lines that begin with # are skipped: 1"},
		"files that were joined": {"time;temp;pm25\n2025-01-01;21;7,5\n\ufefftime;temp;pm25\n2025-01-01;22;8,5\n",
			[]string{at + " pm25=7.5 temp=21", at + " pm25=8.5 temp=22"}, nil,
			"lines that repeat the header are skipped: 1"},
		"one value below the limit of a sensor": {"time;v\n2025-01-01;0,5\n2025-01-01;0,6\n2025-01-01;error\n" +
			"2025-01-01;<0,05\n", []string{at + ` v="0,5"`, at + ` v="0,6"`, at + ` v="error"`, at + ` v="<0,05"`}, nil,
			"column v is text: values such as <0,05 are no plain numbers"},
	} {
		rows, wrong, err := rowsOf(t, strings.NewReader(c.text), one)
		if c.want[0][0] == '!' {
			if err == nil || !strings.Contains(err.Error(), c.want[0][1:]) {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
			continue
		}
		lines := []int{}
		for line := range wrong {
			lines = append(lines, line)
		}
		slices.Sort(lines)
		if err != nil || !slices.Equal(lines, c.wrong) {
			t.Errorf("%s: %v, wrong %v", name, err, wrong)
			continue
		}
		if !slices.Equal(rows, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", name, rows, c.want)
		}
		r := must.Have(Open(strings.NewReader(c.text), one))(t)
		said := strings.Join(r.Plan.Notes, " ")
		for _, column := range r.Plan.Columns {
			said += column.Misfit
		}
		if must.Succeed(t, r.Close()); c.notes != "" && said != c.notes {
			t.Errorf("%s: it says %q, want %q", name, said, c.notes)
		}
	}
}

// TestWhatIsAppendedMeanwhileWaitsForTheNextImport reads files that a logger still writes.
func TestWhatIsAppendedMeanwhileWaitsForTheNextImport(t *testing.T) {
	for before, after := range map[string]string{
		`{"time":"2025-01-01","v":1}` + "\n":  `{"time":"2025-01-02","w":2}` + "\n",
		"time,sensor,value\n2025-01-01,v,1\n": "2025-01-02,w,2\n",
		"time;v\n2025-01-01;0,5\n":            "2025-01-02;error\n",
	} {
		name := filepath.Join(t.TempDir(), "growing")
		must.Succeed(t, os.WriteFile(name, []byte(before), 0o600))
		file := must.Have(os.Open(name))(t)
		r := must.Have(Open(file, Columns{OneDevice: true}))(t)
		must.Succeed(t, os.WriteFile(name, []byte(before+after), 0o600))
		row := must.Have(r.Next())(t)
		if next, err := r.Next(); len(row.Values) != 1 || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %+v, then %+v, %v", before, row, next, err)
		}
		must.Succeed(t, errors.Join(r.Close(), file.Close()))
	}
}

// TestAColumnThatSaysDeviceNamesIt, also in a file with one reading of each of many devices.
func TestAColumnThatSaysDeviceNamesIt(t *testing.T) {
	var text strings.Builder
	text.WriteString("device,time,temperature\n")
	for n := range 300 {
		fmt.Fprintf(&text, "pump-%d,2025-01-01,%d\n", n, n)
	}
	rows, _, err := rowsOf(t, strings.NewReader(text.String()), Columns{NeedsDevice: true})
	if err != nil || len(rows) != 300 || rows[299] != "pump-299 2025-01-01T00:00:00Z temperature=299" {
		t.Errorf("%d rows, %v, %v", len(rows), rows[max(0, len(rows)-1):], err)
	}
}
