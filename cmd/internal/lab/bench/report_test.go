package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// found returns a sample of so many operations in one second. Each took ms.
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

func taskOf(name, target string, tableRows int) task {
	for _, w := range storageWorkloads() {
		if w.name == name {
			return task{workload: w.workload, tableRows: tableRows, target: target}
		}
	}
	panic(name)
}

func newTestReport() *Report { return newReport(Settings{For: time.Second, Rounds: 3, Clients: 4}) }

// find returns a row, and the zero one if there is none.
func (r *Report) find(name string) (found Row) {
	for _, x := range r.Rows {
		if x.Name == name {
			found = x
		}
	}
	return found
}

func near(got, want float64) bool { return got > want*0.99 && got < want*1.01 }

func TestReportShowsMediansOfTheRounds(t *testing.T) {
	r := newTestReport()
	for _, operations := range []int{10, 1000, 30} {
		r.add(taskOf("transaction", "a", 0), found(operations, operations))
	}
	x := r.find("transaction")
	if x.Operations != 1040 || !near(x.OpsPerSecond, 30) || !near(x.RowsPerSecond, 3000) || !near(x.P50, 30) ||
		len(x.EachRound) != 3 {
		t.Errorf("the row is %+v", x)
	}
}

func TestPartsAreRowsWithoutARate(t *testing.T) {
	r := newTestReport()
	r.add(taskOf("message", "a", 0), found(10, 60, 10, 20, 30))
	for name, p50 := range map[string]float64{"message": 60, "message/put": 10, "message/get": 20, "message/delete": 30} {
		if x := r.find(name); !near(x.P50, p50) || (x.OpsPerSecond > 0) != (name == "message") {
			t.Errorf("%s is %+v", name, x)
		}
	}
}

func TestErrorsAreCountedAndTheFirstIsReported(t *testing.T) {
	r := newTestReport()
	s := found(0, 1)
	s.errors, s.firstError = 7, errors.New("no such thing")
	r.add(taskOf("get", "a", 100), s)
	r.warn()
	if x := r.find("get"); x.Errors != 7 || x.FirstError != "no such thing" || r.Warning == "" {
		t.Errorf("the row is %+v, the warning %q", x, r.Warning)
	}
	var text strings.Builder
	must.Succeed(t, r.WriteText(&text))
	if !strings.Contains(text.String(), "a, get, 100 rows: first error: no such thing") ||
		!strings.Contains(text.String(), "warning: ") {
		t.Errorf("the report is\n%s", text.String())
	}
}

func TestReportWithoutOperationsIsValidJSON(t *testing.T) {
	r := newTestReport()
	r.add(taskOf("insert", "a", 0), found(0, 1))
	r.add(taskOf("insert", "b", 0), found(10, 1))
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("a row without operations cannot be encoded: %v", err)
	}
}

func TestRoundsAlternateTheirDirectionAndRowsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var tasks []task
		for _, name := range []string{"get", "insert"} {
			x := taskOf(name, "a", 0)
			x.do = func(context.Context, int, func()) error {
				if len(order) == 0 || order[len(order)-1] != name {
					order = append(order, name)
				}
				time.Sleep(time.Second)
				return nil
			}
			tasks = append(tasks, x)
		}
		r := newTestReport()
		must.Succeed(t, (Settings{For: time.Second, Rounds: 2, Clients: 1}).measure(t.Context(), tasks, r))
		if got := strings.Join(order, " "); got != "get insert get" || r.Rows[0].Name != "get" || r.Rows[1].Name != "insert" {
			t.Errorf("measured %s; rows %+v", got, r.Rows)
		}
	})
}

func ExampleReport_WriteText() {
	r := newTestReport()
	r.CPUs = 2
	r.add(taskOf("insert", "local", 0), found(12345, 5))
	r.add(taskOf("insert", "azurite", 0), found(823, 78))
	r.add(taskOf("range", "local", 10_000), found(2000, 1))
	r.add(taskOf("range", "azurite", 10_000), found(8, 2500))
	if err := r.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// 4 clients, 1 s per row, 3 rounds, 2 CPUs
	//
	//   ops/s  rows/s   p50   p99  errors  relative  workload
	//   12345           5ms   5ms       0         1  local: insert
	//     823          78ms  78ms       0     0.067  azurite: insert
	//    2000  200000   1ms   1ms       0         1  local: range, 10000 rows
	//       8     800  2.5s  2.5s       0     0.004  azurite: range, 10000 rows
}

func TestEveryClientWorksUntilTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measurement{parts: []string{"one", "two"}, clients: 3, length: 5 * time.Second}
		s := m.run(t.Context(), func(_ context.Context, _ int, lap func()) error {
			time.Sleep(10 * time.Millisecond)
			lap()
			time.Sleep(30 * time.Millisecond)
			lap()
			return nil
		})
		if s.elapsed != 5*time.Second {
			t.Errorf("it took %v", s.elapsed)
		}
		for i, want := range []float64{40_000, 10_000, 30_000} {
			h := s.latencies[i]
			if h.TotalCount() != 3*125 || !near(float64(h.ValueAtQuantile(50)), want) ||
				!near(float64(h.ValueAtQuantile(99)), want) {
				t.Errorf("part %d: %d operations, p50 %dµs, p99 %dµs; want 375 of %vµs",
					i, h.TotalCount(), h.ValueAtQuantile(50), h.ValueAtQuantile(99), want)
			}
		}
	})
}

func TestWarmUpIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		m := measurement{clients: 1, length: 5 * time.Second}
		s := m.run(t.Context(), func(context.Context, int, func()) error {
			time.Sleep(time.Second)
			if calls.Add(1) == 1 {
				return errors.New("cold")
			}
			return nil
		})
		if calls.Load() != 6 || s.latencies[0].TotalCount() != 5 || s.errors != 0 {
			t.Errorf("%d calls, %d counted, %d errors", calls.Load(), s.latencies[0].TotalCount(), s.errors)
		}
	})
}

func TestFailuresAreNotOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		m := measurement{clients: 2, length: time.Second}
		s := m.count(t.Context(), func(context.Context, int, func()) error { return refused })
		if s.latencies[0].TotalCount() != 0 || s.errors != 200 || s.firstError != refused {
			t.Errorf("%d operations, %d errors, first %v; want 0, one every 10 ms and client, and the cause",
				s.latencies[0].TotalCount(), s.errors, s.firstError)
		}
	})
}

func TestInterruptionIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		m := measurement{clients: 8, length: time.Hour}
		s := m.count(ctx, func(ctx context.Context, _ int, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if s.errors != 0 || s.elapsed != time.Minute {
			t.Errorf("%d errors after %v", s.errors, s.elapsed)
		}
	})
}
