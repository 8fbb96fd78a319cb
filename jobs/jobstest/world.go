// Package jobstest has fixtures for tests of jobs and workers: a world of devices and readings, fleets that fold them,
// and the ends they come to.
package jobstest

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Month is when all devices of a World were deployed.
var Month = schema.Month{Year: 2026, Month: 11}

// A World is an account with the readings of a few devices. Any number of fleets read them, each with outputs of its
// own.
type World struct {
	Account  tables.Account
	Readings string
	Devices  []schema.DeviceID
	Rows     [][]tables.Entity // of each device, in row order
	Rates    bool              // pipelines of its fleets have rates, too
	fleets   atomic.Int32
	prefix   string // of the names of its tables
	shared   bool   // others use the account, too, so the world's tables are deleted
}

// NewWorld has readings of the last two hours.
func NewWorld(t testing.TB, devices, rows int) *World {
	t.Helper()
	return NewWorldSince(t, 2*time.Hour, devices, rows)
}

// NewWorldSince has readings since then until a minute ago, so hours and perhaps days end in between.
func NewWorldSince(t testing.TB, since time.Duration, devices, rows int) *World {
	t.Helper()
	return NewWorldIn(t, azuretest.Local(t), since, devices, rows)
}

// NewWorldIn returns a world in an account that others may use, too.
func NewWorldIn(t testing.TB, in azuretest.Account, since time.Duration, devices, rows int) *World {
	t.Helper()
	account := must.Have(tables.ParseAccount(in.ConnectionString()))(t)
	w := &World{Account: account, prefix: azuretest.Name("w")[:8], shared: in.Kind != azuretest.Embedded}
	w.Readings = w.prefix + "readings"
	now := time.Now().UTC()
	for i := range devices {
		d := schema.DeviceID(fmt.Sprintf("contoso:d%02d", i))
		w.Devices = append(w.Devices, d)
		var own []tables.Entity
		for n := range rows {
			at := tables.TicksOf(now.Add(-since + time.Duration(n)*(since-time.Minute)/time.Duration(rows)))
			if last := rows - 9; n > last { // minute after minute
				at = tables.TicksOf(now.Add(time.Duration(n-rows) * 70 * time.Second))
			}
			e := tables.Entity{PartitionKey: string(d), RowKey: at.String()}
			e.Set("temperature", tables.Double(float64(i)+math.Sin(float64(n))))
			e.Set("humidity", tables.String(fmt.Sprint(40+n%7)))
			switch n % 11 {
			case 3:
				e.RowKey += "x" // a malformed key
			case 5:
				e.Set("pressure", tables.String("nan"))
			case 7:
				e.Set("door", tables.String(`{"open":true,"by":"me"}`))
			}
			own = append(own, e)
		}
		w.Rows = append(w.Rows, own)
	}
	w.Insert(t, w.Readings, func(int) bool { return true })
	return w
}

// Insert inserts the rows with the wanted numbers into a table.
func (w *World) Insert(t testing.TB, readings string, wanted func(n int) bool) {
	t.Helper()
	w.Create(t, readings)
	var all []tables.Entity
	for _, rows := range w.Rows {
		for n, e := range rows {
			if wanted(n) {
				all = append(all, e)
			}
		}
	}
	Insert(t, w.Connect(t, nil).Table(readings), all...)
}

// Insert inserts entities of any partitions.
func Insert(t testing.TB, table *tables.Table, all ...tables.Entity) {
	t.Helper()
	byPartition := map[string][]tables.Op{}
	for _, e := range all {
		byPartition[e.PartitionKey] = append(byPartition[e.PartitionKey], tables.Insert(e))
	}
	for _, ops := range byPartition {
		groups := must.Have(tables.Cut(ops))(t)
		for _, g := range groups {
			must.Have(table.Submit(t.Context(), g))(t)
		}
	}
}

// Rows reads all rows that a query asks for.
func Rows(t testing.TB, table *tables.Table, q tables.Query) (all []tables.Entity) {
	t.Helper()
	for page, err := range table.Rows(t.Context(), q) {
		must.Succeed(t, err)
		all = append(all, page.Rows...)
	}
	return all
}

// Create creates tables. They are deleted after the test if others use the account, too.
func (w *World) Create(t testing.TB, names ...string) {
	t.Helper()
	client := w.Connect(t, nil)
	for _, name := range names {
		table := client.Table(name)
		must.Succeed(t, table.Create(t.Context()))
		if w.shared {
			t.Cleanup(func() { must.Succeed(t, table.Delete(context.WithoutCancel(t.Context()))) })
		}
	}
}

// Connect returns a client that tries everything once, so that jobs and not the SDK meet faults.
func (w *World) Connect(t testing.TB, through policy.Transporter) *tables.Client {
	t.Helper()
	c, err := tables.Connect(tables.Config{Account: w.Account, Transport: azuretest.Transport(through),
		Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	return c
}
