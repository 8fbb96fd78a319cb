package dashboard

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// readings returns what an address of readings answers in JSON.
func (f *fixture) readings(t testing.TB, target string) (a model.Readings) {
	t.Helper()
	w := f.get(target)
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 {
		t.Fatalf("%s: %d %s: %v", target, w.Code, w.Body, err)
	}
	return a
}

// TestFormatsOfReadingsSayTheSame compares the lines of the four formats.
func TestFormatsOfReadingsSayTheSame(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newFixture(t, 4, Config{Loopback: true})
	f.Send(t, "d0001", time.Date(9000, 1, 2, 3, 4, 5, 600, time.UTC), map[string]any{"temperature": -1e300,
		"door": "=1+1, \"quoted\"\nand über"})
	const target = "/v1/devices/d0001/readings?from=2026-01-01&to=9999-01-01"
	var want []string
	for _, r := range f.readings(t, target).Rows {
		for _, sensor := range []string{"door", "temperature"} {
			if v, has := r.Values.Map()[sensor]; has {
				want = append(want, fmt.Sprint(r.Device, r.Row, r.Time.Format(time.RFC3339Nano), sensor, v))
			}
		}
	}
	compare := func(format string, got []string) {
		t.Helper()
		if len(want) != 10 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	var lines []string
	for line := range strings.Lines(f.get(target + "&format=jsonl").Body.String()) {
		var r answers.Reading
		must.Succeed(t, json.Unmarshal([]byte(line), &r))
		for _, sensor := range []string{"door", "temperature"} {
			lines = append(lines, fmt.Sprint(r.Device, r.Row, r.Time.Format(time.RFC3339Nano), sensor, r.Values.Map()[sensor]))
		}
	}
	compare("jsonl", lines)
	rows, err := csv.NewReader(f.get(target + "&format=csv").Body).ReadAll()
	if err != nil || strings.Join(rows[0], " ") != "device time sensor value text doubtful row unit" {
		t.Fatalf("%v, %v", rows, err)
	}
	lines = nil
	for _, r := range rows[1:] {
		if last := strings.HasPrefix(r[4], "'="); last { // or a spreadsheet would compute it
			r[4] = r[4][1:]
		}
		at, err := time.Parse("2006-01-02T15:04:05.0000000Z", r[1]) // of one length
		must.Succeed(t, err)
		lines = append(lines, r[0]+r[6]+at.Format(time.RFC3339Nano)+r[2]+r[3]+r[4])
	}
	compare("csv", lines)
	arrow := must.Have(ipc.NewReader(f.get(target, "Accept", "application/vnd.apache.arrow.stream").Body))(t)
	lines = nil
	for arrow.Next() {
		b := arrow.RecordBatch()
		text := func(column, row int) string { return b.Column(column).ValueStr(row) }
		for i := range int(b.NumRows()) {
			at := time.UnixMicro(int64(b.Column(1).(*array.Timestamp).Value(i))).UTC()
			value := fmt.Sprint(b.Column(3).(*array.Float64).Value(i))
			if b.Column(3).IsNull(i) {
				value = text(4, i)
			}
			if b.Column(5).(*array.Boolean).Value(i) {
				t.Errorf("row %d is doubtful", i)
			}
			exact := f.readings(t, target).Rows[i/2].Time // in Arrow, times are in microseconds
			if !exact.Truncate(time.Microsecond).Equal(at) {
				t.Errorf("row %d is of %v, want %v", i, at, exact)
			}
			lines = append(lines, text(0, i)+text(6, i)+exact.Format(time.RFC3339Nano)+text(2, i)+value)
		}
	}
	if arrow.Err() != nil {
		t.Error(arrow.Err())
	}
	compare("arrow", lines)
}

// TestPartsHaveEachRowOnce goes through readings with cursors while the device writes more, before and after them.
func TestPartsHaveEachRowOnce(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newFixture(t, 2, Config{Loopback: true})
	now := time.Now()
	for i := range 23 {
		f.Send(t, "d0000", now.Add(-time.Duration(i)*time.Minute-30*time.Second), map[string]any{"temperature": float64(i)})
	}
	for _, target := range []string{"/v1/devices/d0000/readings?from=-30m",
		"/v1/devices/d0000/readings?from=-30m&sensors=door",
		"/v1/devices/d0000/readings?from=-30m&sensors=door,temperature&format=jsonl"} {
		plain := strings.Split(target, "&format")[0]
		whole := f.readings(t, plain)
		if whole.Next != "" || whole.Count != int64(len(whole.Rows)) || whole.Limit != 1000 {
			t.Fatalf("%s: %+v", target, whole)
		}
		var all []string
		var from string
		for after, part := "", 0; ; part++ {
			w := f.get(target + "&limit=4&after=" + after)
			var a model.Readings
			if strings.HasSuffix(target, "jsonl") {
				for line := range strings.Lines(w.Body.String()) {
					var r answers.Reading
					must.Succeed(t, json.Unmarshal([]byte(line), &r))
					a.Rows = append(a.Rows, r)
				}
			} else if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Next != w.Header().Get("Furrow-Next") ||
				fmt.Sprint(a.RowsRead) != w.Header().Get("Furrow-Rows-Read") || a.RowsRead < a.Count {
				t.Fatalf("%s: %d %s, headers %v: %v", target, w.Code, w.Body, w.Header(), err)
			}
			if span := w.Header().Get("Furrow-From") + w.Header().Get("Furrow-To"); from == "" {
				from = span
			} else if from != span {
				t.Errorf("part %d is %s, the first was %s", part, span, from)
			}
			if len(a.Rows) > 4 {
				t.Errorf("%d rows, the limit is 4", len(a.Rows))
			}
			for _, r := range a.Rows {
				all = append(all, r.Row)
			}
			if part == 1 {
				time.Sleep(time.Second) // so that -30m is another time
				f.Send(t, "d0000", now.Add(-29*time.Minute), map[string]any{"temperature": 1.0, "door": "late"})
				f.Send(t, "d0000", now.Add(time.Hour), map[string]any{"temperature": 1.0, "door": "future"})
			}
			if after = w.Header().Get("Furrow-Next"); after == "" {
				break
			}
		}
		var want []string
		for _, r := range whole.Rows {
			want = append(want, r.Row)
		}
		if strings.Join(all, " ") != strings.Join(want, " ") || len(want) == 0 {
			t.Errorf("%s: in parts\n%q, whole\n%q", target, all, want)
		}
	}
}

// TestConditionsLeaveOutRows compares with all rows, whole and in parts, and counts the rows read.
func TestConditionsLeaveOutRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, Config{Loopback: true})
	now := time.Now()
	if midnight := now.Truncate(24 * time.Hour); now.Sub(midnight) < 21*time.Minute {
		now = midnight.Add(-time.Minute) // all rows are of one day
	}
	for i := range 20 {
		f.Send(t, "d0000", now.Add(-time.Duration(i)*time.Minute-30*time.Second), map[string]any{
			"temperature": float64(i), "door": []string{"open", "ajar", "shut"}[i%3]})
	}
	f.Fold(t)
	f.run(t, 4)
	for where, want := range map[string]int{"temperature >= 15": 5, `door == "ajar"`: 7, "labels.x == nil": 24,
		`door in ["ajar", "shut"] and temperature < 3`: 2, "temperature == nil": 0} {
		target := "/v1/devices/d0000/readings?from=-6h&sensors=door&where=" + url.QueryEscape(where)
		whole := f.readings(t, target)
		if len(whole.Rows) != want || whole.RowsRead != 24 || len(whole.Rows) > 0 && len(whole.Rows[0].Values) != 1 {
			t.Errorf("%s: %d rows of %d, want %d: %v", where, len(whole.Rows), whole.RowsRead, want, whole.Rows)
		}
		var rows []answers.Reading
		for part := f.readings(t, target+"&limit=2"); ; part = f.readings(t, target+"&limit=2&after="+part.Next) {
			if rows = append(rows, part.Rows...); part.Next == "" {
				break
			}
		}
		if fmt.Sprint(rows) != fmt.Sprint(whole.Rows) {
			t.Errorf("%s: in parts %v, whole %v", where, rows, whole.Rows)
		}
	}
	for where, want := range map[string]int{"temperature.max > 2": 1, "temperature.min < 1 and labels.x == nil": 1,
		"temperature > 1e9": 0} {
		var a model.Windows
		w := f.get("/v1/query?window=1d&tenant=contoso&devices=d0000&where=" + url.QueryEscape(where))
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || len(a.Rows) != want || a.RowsRead < a.Count {
			t.Errorf("%s: %s, want %d rows: %v", where, w.Body, want, err)
		}
	}
	for _, target := range []string{"/v1/devices/d0000/readings?", "/v1/query?", "/v1/query?window=newest&",
		"/v1/devices?",
		"/v1/map?", "/v1/overview?", "/v1/devices?format=csv&"} {
		wantProblem(t, target, f.get(target+"where=temprature+%3E+1"), api.BadRequest)
		wantProblem(t, target, f.get(target+"where=temperature+%3E"), api.BadRequest)
	}
}

// TestNewestReadingsComeFirst compares the newest rows with the end of the span.
func TestNewestReadingsComeFirst(t *testing.T) {
	f := newFixture(t, 2, Config{Loopback: true})
	all := f.readings(t, "/v1/devices/d0000/readings").Rows
	for n := 1; n < 6; n++ {
		got := f.readings(t, fmt.Sprintf("/v1/devices/d0000/readings?newest=%d", n))
		if len(got.Rows) != min(n, 4) || got.Rows[0].Row != all[3].Row ||
			got.Rows[len(got.Rows)-1].Row != all[4-len(got.Rows)].Row ||
			got.From != nil || got.Limit != n {
			t.Errorf("newest=%d: %+v", n, got)
		}
	}
}

// TestCursorsAreOfOneQuestion alters cursors, and uses them for other questions, devices and persons.
func TestCursorsAreOfOneQuestion(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	all := g.signIn(t, g.add(t, "root", "viewer", ""))
	one := g.signIn(t, g.add(t, "only", "viewer", "contoso"))
	const own = "/v1/devices/d0000/readings?from=-6h&limit=2"
	next := all.get(own).Header().Get("Furrow-Next")
	if w := all.get(own + "&after=" + next); w.Code != 200 || w.Header().Get("Furrow-Count") != "2" {
		t.Fatalf("the cursor %q: %d %s", next, w.Code, w.Body)
	}
	if w := all.get("/v1/devices/d0000/readings?limit=1&from=-6h&format=csv&after=" + next); w.Code != 200 {
		t.Errorf("in another format and size: %d %s", w.Code, w.Body)
	}
	for _, target := range []string{"/v1/devices/d0002/readings?from=-6h", "/v1/devices/d0000/readings?from=-5h",
		"/v1/devices/d0000/readings?from=-6h&sensors=door", "/v1/devices/d0000/readings"} {
		joint := "?"
		if strings.Contains(target, "?") {
			joint = "&"
		}
		wantProblem(t, target, all.get(target+joint+"after="+next), api.BadRequest)
	}
	wantProblem(t, "another person", one.get(own+"&after="+next), api.BadRequest)
	data := must.Have(base64.RawURLEncoding.DecodeString(next))(t)
	for i := range len(data) * 8 {
		data[i/8] ^= 1 << (i % 8)
		altered := base64.RawURLEncoding.EncodeToString(data)
		data[i/8] ^= 1 << (i % 8)
		if w := all.get(own + "&after=" + altered); w.Code != 400 {
			t.Fatalf("with bit %d altered: %d", i, w.Code)
		}
	}
	for _, after := range []string{next[:len(next)-1], next + "A", next[1:], "x", url.QueryEscape(next + "=")} {
		wantProblem(t, after, all.get(own+"&after="+after), api.BadRequest)
	}
}
