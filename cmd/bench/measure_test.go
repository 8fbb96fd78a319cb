package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

// found returns a sample of so many operations in one second. Each took ms.
func found(operations int, ms ...int) sample {
	s := sample{elapsed: time.Second, latencies: make([][]time.Duration, len(ms))}
	for i, took := range ms {
		s.latencies[i] = slices.Repeat([]time.Duration{time.Duration(took) * time.Millisecond}, operations)
	}
	return s
}

func taskOf(name, target string) task {
	for _, w := range storageWorkloads() {
		if w.name == name {
			return task{workload: w.workload, target: target}
		}
	}
	panic(name)
}

// printed returns the lines of a sample without the number of processors.
func printed(t *testing.T, task task, s sample) (out, errs string) {
	var stdout, stderr strings.Builder
	must.Succeed(t, settings{out: &stdout, errs: &stderr}.print("Storage", task, s))
	return regexp.MustCompile(`-\d+\t`).ReplaceAllString(stdout.String(), "\t"), stderr.String()
}

func TestPartsHaveLinesWithoutARate(t *testing.T) {
	got, _ := printed(t, taskOf("message", "a"), found(10, 60, 10, 20, 30))
	want := `BenchmarkStorage/message/target=a	10	100000000 ns/op	60000000 p50-ns	60000000 p99-ns
BenchmarkStorage/message/put/target=a	10	10000000 p50-ns	10000000 p99-ns
BenchmarkStorage/message/get/target=a	10	20000000 p50-ns	20000000 p99-ns
BenchmarkStorage/message/delete/target=a	10	30000000 p50-ns	30000000 p99-ns
`
	if got != want {
		t.Errorf("it prints\n%s", got)
	}
}

func TestOperationsOfManyRowsHaveTheirRate(t *testing.T) {
	if got, _ := printed(t, taskOf("range", "a"), found(30, 30)); !strings.Contains(got, "\t3000 rows/s") {
		t.Errorf("it prints\n%s", got)
	}
}

func TestErrorsAreCountedAndTheFirstIsReported(t *testing.T) {
	s := found(0, 1)
	s.errors, s.firstError = 7, errors.New("no such thing")
	out, errs := printed(t, taskOf("get", "a"), s)
	if out != "" || errs != "a: get: 7 errors, the first: no such thing\n" {
		t.Errorf("it prints %q and %q", out, errs)
	}
}

func TestRoundsAlternateTheirDirection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var tasks []task
		for _, name := range []string{"get", "insert"} {
			x := taskOf(name, "a")
			x.do = func(context.Context, int, func()) error {
				if len(order) == 0 || order[len(order)-1] != name {
					order = append(order, name)
				}
				time.Sleep(time.Second)
				return nil
			}
			tasks = append(tasks, x)
		}
		s := settings{length: time.Second, rounds: 2, clients: 1, out: io.Discard, errs: io.Discard}
		must.Succeed(t, s.measure(t.Context(), "Storage", tasks))
		if got := strings.Join(order, " "); got != "get insert get" {
			t.Errorf("measured %s", got)
		}
	})
}

func TestEveryClientWorksUntilTheTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := measurement{parts: 2, clients: 3, length: 5 * time.Second}
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
		for i, want := range []time.Duration{40 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond} {
			if all := s.latencies[i]; len(all) != 3*125 || slices.Min(all) != want || slices.Max(all) != want {
				t.Errorf("part %d: %d operations of %v to %v; want 375 of %v", i, len(all), slices.Min(all), slices.Max(all),
					want)
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
		if calls.Load() != 6 || len(s.latencies[0]) != 5 || s.errors != 0 {
			t.Errorf("%d calls, %d counted, %d errors", calls.Load(), len(s.latencies[0]), s.errors)
		}
	})
}

func TestFailuresAreNotOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		m := measurement{clients: 2, length: time.Second}
		s := m.count(t.Context(), func(context.Context, int, func()) error { return refused })
		if len(s.latencies[0]) != 0 || s.errors != 200 || s.firstError != refused {
			t.Errorf("%d operations, %d errors, first %v; want 0, one every 10 ms and client, and the cause",
				len(s.latencies[0]), s.errors, s.firstError)
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
