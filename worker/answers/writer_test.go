package answers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"furrow/tables/azuretest/must"
	"furrow/worker/query"
)

// A sample has a field of every kind.
type sample struct {
	Device string            `json:"device" column:"device"`
	At     time.Time         `json:"at,omitzero" column:"at,exact"`
	Until  *time.Time        `json:"until,omitempty" column:"until"`
	Values BySensor[any]     `json:"values" each:"sensor" column:"value,text"`
	Good   BySensor[bool]    `json:"good,omitempty" each:"sensor" column:"good"`
	Site   string            `json:"site,omitempty" column:"site"`
	Labels map[string]string `json:"labels,omitempty" column:"labels" people:"-"`
	Place  *struct {
		Lat float64 `column:"lat"`
	} `json:"place,omitempty" column:"place_"`
	Hidden string `json:"-" column:"hidden"`
	Only   int    `json:"only"`
}

func samples() []sample {
	at := time.Date(2026, 11, 20, 8, 0, 0, 500_000_000, time.UTC)
	return []sample{
		{Device: "d", At: at, Until: &at, Site: "hall", Labels: map[string]string{"b": "2", "a": "1"}, Hidden: "h", Only: 7,
			Values: ofSensors(map[string]any{"t": 0.30000000000000004, "door": "open", "n": int64(1) << 60, "on": true}),
			Good:   ofSensors(map[string]bool{"t": true}), Place: &struct {
				Lat float64 `column:"lat"`
			}{0}},
		{Device: "none"}, // has no value, and so no line
		{Device: "=e", Values: ofSensors(map[string]any{"t": 2.5})},
	}
}

func ofSensors[V any](all map[string]V) (s BySensor[V]) {
	for sensor, v := range all {
		s.set(sensor, v)
	}
	return s
}

// written returns what a format has of rows.
func written[R any](t *testing.T, f Format, rows []R) string {
	t.Helper()
	var b bytes.Buffer
	var first R
	to := NewWriter(f, &b, first, func() any { return map[string]any{"a": 1, "rows": []int{}, "z": 2} })
	for _, r := range rows {
		must.Succeed(t, to.Row(r))
	}
	must.Succeed(t, to.End())
	return b.String()
}

func TestEachFormatHasWhatTheTagsSay(t *testing.T) {
	for f, want := range map[Format]string{
		CSV: `device,at,until,sensor,value,text,good,site,labels,place_lat,hidden
d,2026-11-20T08:00:00.5000000Z,2026-11-20T08:00:00Z,door,,open,false,hall,"{""a"":""1"",""b"":""2""}",0,h
d,2026-11-20T08:00:00.5000000Z,2026-11-20T08:00:00Z,n,1152921504606846976,,false,hall,"{""a"":""1"",""b"":""2""}",0,h
d,2026-11-20T08:00:00.5000000Z,2026-11-20T08:00:00Z,on,,true,false,hall,"{""a"":""1"",""b"":""2""}",0,h
d,2026-11-20T08:00:00.5000000Z,2026-11-20T08:00:00Z,t,0.30000000000000004,,true,hall,"{""a"":""1"",""b"":""2""}",0,h
'=e,,,t,2.5,,false,,,,
`,
		Table: `DEVICE  AT                     UNTIL                SENSOR  VALUE                GOOD  SITE  PLACE_LAT  HIDDEN
d       2026-11-20 08:00:00.5  2026-11-20 08:00:00  door    open                       hall          0  h
d       2026-11-20 08:00:00.5  2026-11-20 08:00:00  n       1152921504606846976        hall          0  h
d       2026-11-20 08:00:00.5  2026-11-20 08:00:00  on      true                       hall          0  h
d       2026-11-20 08:00:00.5  2026-11-20 08:00:00  t                       0.3  yes   hall          0  h
=e                                                  t                       2.5
`,
		JSONL: `{"device":"d","at":"2026-11-20T08:00:00.5Z","until":"2026-11-20T08:00:00.5Z","values":{"door":"open","n":` +
			`1152921504606846976,"on":true,"t":0.30000000000000004},"good":{"t":true},"site":"hall",` +
			`"labels":{"a":"1","b":"2"},"place":{"Lat":0},"only":7}` + "\n" + `{"device":"none","values":{},"only":0}` + "\n" +
			`{"device":"=e","values":{"t":2.5},"only":0}` + "\n",
	} {
		if got := written(t, f, samples()); got != want {
			t.Errorf("%s is\n%swant\n%s", f, got, want)
		}
	}
	var whole struct {
		A, Z int
		Rows []json.RawMessage
	}
	must.Succeed(t, json.Unmarshal([]byte(written(t, JSON, samples())), &whole))
	if whole.A != 1 || whole.Z != 2 || len(whole.Rows) != 3 {
		t.Errorf("JSON is %+v", whole)
	}
	r := must.Have(ipc.NewReader(strings.NewReader(written(t, Arrow, samples()))))(t)
	defer r.Release()
	var fields, values []string
	for _, f := range r.Schema().Fields() {
		fields = append(fields, strings.TrimSpace(f.Name+" "+f.Type.Name()))
	}
	for r.Next() {
		for i := range int(r.RecordBatch().NumRows()) {
			for _, column := range []int{1, 4, 5, 6} {
				values = append(values, r.RecordBatch().Column(column).ValueStr(i))
			}
		}
	}
	want := "device dictionary, at timestamp, until timestamp, sensor dictionary, value float64, text utf8, good bool, " +
		"site dictionary, labels utf8, place_lat float64, hidden utf8"
	if got := strings.Join(fields, ", "); got != want {
		t.Errorf("Arrow has the columns %s, want %s", got, want)
	}
	want = "2026-11-20T08:00:00.5Z (null) open false 2026-11-20T08:00:00.5Z " +
		"1.152921504606847e+18 (null) false 2026-11-20T08:00:00.5Z (null) true false 2026-11-20T08:00:00.5Z " +
		"0.30000000000000004 (null) true (null) 2.5 (null) false"
	if got := strings.Join(values, " "); got != want {
		t.Errorf("Arrow has %s, want %s", got, want)
	}
}

// TestEachElementAndKeyHasALine has one for a row whose list is empty, too.
func TestEachElementAndKeyHasALine(t *testing.T) {
	type message struct {
		Text string `column:"text"`
	}
	type queue struct {
		Name string    `column:"queue"`
		All  []message `each:"message"`
	}
	type measured struct {
		Time  string `column:"time"`
		Value int    `column:"value"`
	}
	type newest struct {
		Sensors BySensor[measured] `each:"sensor" behind:"time"`
		Device  string             `column:"device"`
	}
	last := []newest{{ofSensors(map[string]measured{"b": {"2", 20}, "a": {"1", 10}}), "d"}}
	if got, want := written(t, CSV, last), "time,sensor,value,device\n1,a,10,d\n2,b,20,d\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rows := []queue{{"full", []message{{"a"}, {"b"}}}, {Name: "empty"}}
	if got, want := written(t, CSV, rows), "queue,text\nfull,a\nfull,b\nempty,\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAnswerWithoutRowsIsAHeader(t *testing.T) {
	none := func(yield func(sample, error) bool) {}
	failing := func(yield func(sample, error) bool) { yield(sample{}, io.EOF) }
	for f, want := range map[Format]string{CSV: "device,at,", Table: "DEVICE  AT", JSONL: ""} {
		var b bytes.Buffer
		if n, err := Write(&b, f, none); n != 0 || err != nil || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%s: %q, %v", f, &b, err)
		}
		b.Reset()
		if _, err := Write(&b, f, failing); !errors.Is(err, io.EOF) || b.Len() > 0 {
			t.Errorf("%s: an error leaves %q, %v", f, &b, err)
		}
	}
}

func TestNumbersReadBackAsTheSameDouble(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100_000 {
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) {
			continue
		}
		back, err := strconv.ParseFloat(Number(f), 64)
		if err != nil || math.Float64bits(back) != math.Float64bits(f) {
			t.Fatalf("seed %d: %x is written %s", seed, math.Float64bits(f), Number(f))
		}
	}
	for f, want := range map[float64]string{0: "0", 1234567: "1234567", 0.1: "0.1", 1e21: "1e+21", -2.5e-7: "-2.5e-07",
		math.Inf(-1): "-Infinity"} {
		if got := Number(f); got != want {
			t.Errorf("%g is written %s, want %s", f, got, want)
		}
	}
}

func TestTablesShowSixDigits(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 21.5: "21.5", 0.1 + 0.2: "0.3", 57.456789: "57.4568",
		-2.0 / 3: "-0.666667", 123456.789: "123457", 1234567.891: "1234568", 987654321: "987654321",
		1.23456789e-9: "1.23457e-09", 1e300 / 3: "3.33333e+299", 999999.96: "1000000", math.Inf(1): "Infinity",
		math.NaN(): "NaN"} {
		shown := cell{has: true, kind: number, number: f}
		if got, right := shown.forPeople(); got != want || !right {
			t.Errorf("%v is shown as %q, want %q", f, got, want)
		}
	}
}

// A sent text is a row that has one column of what a device sends.
type sent struct {
	Device string `column:"device"`
	Text   string `column:"text"`
}

// FuzzTextsInCSV holds that whatever text a device sends is one field, runs in
// no spreadsheet, and is given back by taking an apostrophe away, but for control
// characters.
func FuzzTextsInCSV(f *testing.F) {
	for _, text := range []string{"=1+1", "a,\"b\"\nc", "'", "''=", "-5", "+inf", "-", "\r\n", " x", `\.`, "@", "—",
		"\x00", "=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := csv.NewReader(strings.NewReader(written(t, CSV, []sent{{"d", text}}))).ReadAll()
		if err != nil || len(lines) != 2 || len(lines[1]) != len(lines[0]) {
			t.Fatalf("%q becomes %q, %v", text, lines, err)
		}
		field := lines[1][1]
		if _, err := strconv.ParseFloat(field, 64); err != nil && field != "" && strings.ContainsRune("=+-@\t\r",
			rune(field[0])) {
			t.Errorf("%q becomes the formula %q", text, field)
		}
		want := strings.ReplaceAll(Printable(text), "\r\n", "\n")
		if got := strings.TrimPrefix(field, "'"); got != want {
			t.Errorf("%q is read back as %q", text, got)
		}
	})
}

func TestTextsDoNothingToATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"open": "open", "\x1b[2Jx": "·[2Jx", "a\nb": "a·b", "\xff": "·", "\u202e": "·", "—": "—",
		strings.Repeat("x", 150): strings.Repeat("x", 100) + "…",
	} {
		if got := shortened(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestAnswersHaveColumnsOfTheirOwn has no two columns of one name, and no kind that no cell has.
func TestAnswersHaveColumnsOfTheirOwn(t *testing.T) {
	for _, row := range []any{Reading{}, SensorWindows{}, NewestValues{}, NewestRates{}, RateWindows{}, State{}, GapDay{},
		Report{}, Incident{}, Reject{}, query.Reason{}, Act{}, Record{}, Command{}} {
		var names []string
		for _, c := range columnsOf(row, false).all {
			names = append(names, c.name)
		}
		slices.Sort(names)
		if all := slices.Compact(slices.Clone(names)); len(all) != len(names) || len(names) < 4 {
			t.Errorf("%T has the columns %q", row, names)
		}
	}
}

// TestNamesInArrowAreThoseOfTheirLines has three record batches, each with names of its own.
func TestNamesInArrowAreThoseOfTheirLines(t *testing.T) {
	type row struct {
		Device string `column:"device"`
		Number int64  `column:"number"`
	}
	name := func(i int64) string { return fmt.Sprint("d", i/1000) }
	var rows []row
	for i := range int64(2*batchLines + 100) {
		rows = append(rows, row{name(i), i})
	}
	text := written(t, Arrow, rows)
	if per := len(text) / len(rows); per > 12 {
		t.Errorf("a line has %d bytes", per)
	}
	r := must.Have(ipc.NewReader(strings.NewReader(text)))(t)
	defer r.Release()
	next := int64(0)
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			if got := b.Column(0).ValueStr(i); got != name(next) || b.Column(1).ValueStr(i) != fmt.Sprint(next) {
				t.Fatalf("line %d is of %s and has the number %s", next, got, b.Column(1).ValueStr(i))
			}
			next++
		}
	}
	if r.Err() != nil || next != int64(len(rows)) {
		t.Errorf("%d lines: %v", next, r.Err())
	}
}
