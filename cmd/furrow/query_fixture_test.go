package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// newOddFleet has devices of two tenants and two months, with every oddity that readings can have.
func newOddFleet(t *testing.T) *fixture {
	t.Helper()
	f := newObservedFixture(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i, id := range []schema.DeviceID{"contoso:us-1:a", "contoso:us-1:b", "contoso:us-2:c", "-2:odd", "fabrikam:x"} {
		d := newDevice(id, "contoso", 2026, 10)
		if i > 1 {
			d.Month.Month = 11
		}
		if id == "fabrikam:x" {
			d.Tenant = "fabrikam"
		}
		f.add(d, oddRows(f, random, id)...)
	}
	f.fold()
	return f
}

// oddRows are readings at random times, some of them malformed.
func oddRows(f *fixture, random *rand.Rand, id schema.DeviceID) (rows []tables.Entity) {
	hostile := []string{"open", "=1+1", "a,\"b\"\nc", "+cmd|' /C calc'!A0", "@sum", "'quoted", "\tx", "-", "—"}
	for n := range 400 {
		at := f.begin.Add(time.Duration(random.Int64N(int64(f.end.Sub(f.begin)))))
		if n == 0 {
			at = f.end
		}
		e := reading(id, at, random.NormFloat64()*math.Pow(10, float64(random.IntN(30)-10)))
		e.Set("door", tables.String(hostile[n%len(hostile)]))
		switch n % 5 {
		case 1:
			e.RowKey += fmt.Sprint("-", n)
			e.Set("humidity", tables.String(fmt.Sprint(random.IntN(1000)-500)))
		case 2:
			e.Set("humidity", tables.Int64(int64(random.IntN(1000))))
		case 3:
			// a job keeps a hundred rejects
			e.Set("humidity", tables.String(map[bool]string{true: "nan", false: "7.25"}[n%2 == 0]))
		case 4:
			if n%3 == 0 {
				e.RowKey += "x"
			}
		}
		rows = append(rows, e)
	}
	slices.SortFunc(rows, func(a, b tables.Entity) int { return strings.Compare(a.RowKey, b.RowKey) })
	return rows
}

// query runs a query that must succeed without a word on standard error, but for when a device was last heard.
func (f *fixture) query(args ...string) string {
	f.t.Helper()
	out, errs := f.both("query", args...)
	if errs != "" && !(strings.Contains(errs, " was last heard at ") && strings.Count(errs, "\n") == 1) {
		f.t.Fatalf("furrow query %q: %s", args, errs)
	}
	return out
}

// span returns flags for the time of all readings.
func (f *fixture) span() []string {
	return []string{"--from", f.begin.Format(time.RFC3339), "--to", f.end.Add(time.Second).Format(time.RFC3339)}
}
