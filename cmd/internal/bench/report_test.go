package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// found is a sample of so many operations in one second, each of which took ms.
func found(operations int, ms ...int) sample {
	s := newSample(len(ms) - 1)
	s.elapsed = time.Second
	for range operations {
		var laps []time.Duration
		for _, lap := range ms[1:] {
			laps = append(laps, time.Duration(lap)*time.Millisecond)
		}
		s.record(time.Duration(ms[0])*time.Millisecond, laps)
	}
	return s
}

func step1(name string, tableRows int) step {
	for _, w := range workloads() {
		if w.name == name {
			return step{w, tableRows}
		}
	}
	panic(name)
}

func reportOf(targets ...string) *Report {
	var ends []*endpoint
	for _, name := range targets {
		ends = append(ends, &endpoint{name: name})
	}
	return newReport(Config{For: time.Second, Rounds: 3, Clients: 4, Size: 250}, ends)
}

func near(got, want float64) bool { return got > want*0.99 && got < want*1.01 }

func TestReportShowsMediansOfTheRounds(t *testing.T) {
	r := reportOf("a")
	for _, operations := range []int{10, 1000, 30} {
		r.add(step1("transaction", 0), "a", found(operations, operations))
	}
	r.note(nil)
	x, ok := r.find("transaction", 0, "a")
	if !ok || x.Operations != 1040 || !near(x.OpsPerSecond, 30) || !near(x.RowsPerSecond, 3000) || !near(x.P50, 30) || len(x.EachRound) != 3 {
		t.Errorf("the row is %+v, %v", x, ok)
	}
}

func TestPartsAreRowsWithoutARate(t *testing.T) {
	r := reportOf("a")
	r.add(step1("message", 0), "a", found(10, 60, 10, 20, 30))
	r.note(nil)
	for name, p50 := range map[string]float64{"message": 60, "message/put": 10, "message/get": 20, "message/delete": 30} {
		x, ok := r.find(name, 0, "a")
		if !ok || !near(x.P50, p50) || (x.OpsPerSecond > 0) != (name == "message") {
			t.Errorf("%s is %+v, %v", name, x, ok)
		}
	}
}

func TestRatiosAreOfTheFirstTargetAndOfTheLargerTable(t *testing.T) {
	r := reportOf("fast", "slow", "slower")
	for _, rows := range []int{1_000_000, 10_000} {
		r.add(step1("range", rows), "slow", found(100, 20))
		r.add(step1("range", rows), "slower", found(50, 40))
	}
	r.add(step1("insert", 0), "fast", found(200, 10))
	r.add(step1("insert", 0), "slow", found(100, 20))
	r.add(step1("insert", 0), "slower", found(50, 40))
	r.note(nil)
	var got []string
	for _, x := range r.Ratios {
		got = append(got, fmt.Sprintf("%s %v/%v %.0f%%", x.Name, x.Of, x.To, 100*x.OpsPerSecond))
	}
	want := []string{
		"range {slow 1000000}/{slower 1000000} 200%",
		"range {slow 1000000}/{slow 10000} 100%",
		"range {slower 1000000}/{slower 10000} 100%",
		"range {slow 10000}/{slower 10000} 200%",
		"insert {fast 0}/{slow 0} 200%",
		"insert {fast 0}/{slower 0} 400%",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("ratios are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestErrorsAreCountedAndTheFirstIsTold(t *testing.T) {
	r := reportOf("a")
	s := found(0, 1)
	s.errors, s.firstError = 7, errors.New("no such thing")
	r.add(step1("get", 100), "a", s)
	r.note(nil)
	x, _ := r.find("get", 100, "a")
	if x.Errors != 7 || x.FirstError != "no such thing" || r.Warning == "" {
		t.Errorf("the row is %+v, the warning %q", x, r.Warning)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "a, get, 100 rows: first error: no such thing") || !strings.Contains(text.String(), "warning: ") {
		t.Errorf("the report is\n%s", text.String())
	}
}

func TestJSONHasNoFieldThatIsNotANumber(t *testing.T) {
	r := reportOf("a", "b")
	r.add(step1("insert", 0), "a", found(0, 1))
	r.add(step1("insert", 0), "b", found(10, 1))
	r.note(nil)
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("a row without operations cannot be written: %v", err)
	}
}

func ExampleReport_WriteText() {
	r := reportOf("local", "azurite")
	r.add(step1("insert", 0), "local", found(12345, 5))
	r.add(step1("insert", 0), "azurite", found(823, 78))
	r.add(step1("range", 10_000), "local", found(2000, 1))
	r.add(step1("range", 10_000), "azurite", found(8, 2500))
	r.note(nil)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		panic(err)
	}
	_, table, _ := strings.Cut(text.String(), "\n\n")
	fmt.Print(table)
	// Output:
	// local                                   azurite                                      local
	//                      ops/s   rows/s     p50     p99  errors    ops/s  rows/s     p50     p99  errors  / azurite
	// insert              12,345           5.00ms  5.00ms       0      823          78.0ms  78.0ms       0      15.0x
	// range, 10,000 rows   2,000  200,000  1.00ms  1.00ms       0        8     800   2.50s   2.50s       0     250.0x
}
