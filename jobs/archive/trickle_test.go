package archive_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var (
	trickleDevices = flag.Int("archive.trickle.devices", 30, "how many devices TestLateRowsAreWrittenOnceOrTwice has")
	trickleRows    = flag.Int("archive.trickle.rows", 300, "how many readings each of them has in a day")
	trickleLate    = flag.Float64("archive.trickle.late", 0.05, "the part of them that is late")
	trickleHours   = flag.Int("archive.trickle.hours", 18, "how many hours these are late at most")
)

// A trickle is a day of a tenant whose rows come one after the other.
type trickle struct {
	p       *jobs.Pipeline
	m       *archive.Tables
	of      archive.TableDay
	written atomic.Int64 // bytes of files
	logged  atomic.Int64 // bytes of the log
}

func newTrickle(t *testing.T, summed archive.Summed) *trickle {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	names := must.Have(schema.ParseNames(azuretest.Name("s")[:10]))(t)
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: azuretest.Transport(nil)}))(t)
	c := &trickle{p: &jobs.Pipeline{Name: "archive", Client: client, Names: names}}
	store := must.Have(archive.Connect(archive.StoreConfig{Account: account, Container: names.Archive(),
		Transport: azuretest.Transport(nil),
		OnOperation: func(_ context.Context, o archive.Operation) {
			if strings.HasSuffix(o.Object, ".parquet") && !strings.Contains(o.Object, "_delta_log") {
				c.written.Add(o.Bytes)
			} else {
				c.logged.Add(o.Bytes)
			}
		}}))(t)
	must.Succeed(t, store.Create(t.Context()))
	for _, name := range []string{names.Readings(), names.Fleet(), names.Partitions("archive"), names.Catalog()} {
		must.Succeed(t, client.Table(name).Create(t.Context()))
	}
	c.of = archive.TableDay{Tenant: "contoso", Day: schema.DayOf(tables.TicksOf(time.Now())) - 1,
		Month: schema.Month{Year: 2026, Month: 11}}
	c.m = (&archive.Config{}).Grouping(c.p.Source(), store)
	c.m.Settle, c.m.Summed = time.Second, summed
	return c
}

func (c *trickle) device(n int) schema.DeviceID {
	return schema.DeviceID(fmt.Sprintf("site:pump-%04d", n))
}

// row stores the nth reading of a device.
func (c *trickle) row(device, n int) tables.Op {
	at := c.of.Day.Start().Add(time.Duration(n)*24*time.Hour/time.Duration(*trickleRows) + time.Duration(device))
	e := tables.Entity{PartitionKey: string(c.device(device)), RowKey: at.String()}
	for s, name := range []string{"temperature", "humidity", "pressure", "flow", "voltage", "battery"} {
		e.Set(name, tables.Double(float64(rand.IntN(1000)+2000*s)/100))
	}
	return tables.Insert(e)
}

// join has a device join the fleet.
func (c *trickle) join(t *testing.T, n int) {
	t.Helper()
	m := schema.Member{Month: c.of.Month, Device: c.device(n), Tenant: c.of.Tenant, Readings: c.p.Names.Readings()}
	track := tables.Entity{PartitionKey: c.of.Month.String(), RowKey: string(m.Key())}
	track.Set(schema.TrackCheckpoint, tables.String((c.of.Day + 1).Start().String()))
	must.Have(c.p.Client.Table(c.p.Names.Fleet()).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	must.Have(c.p.Client.Table(c.p.Names.Partitions("archive")).Do(t.Context(), tables.Insert(track)))(t)
}

// TestLateRowsAreWrittenOnceOrTwice: a part of a day's rows comes in the hours after it, and is in the table after
// each. For a byte that the table keeps, at most three are written. Most of a small file is its footer, so days of
// less than 400 readings for each hour in which late rows come take more. Rollups and reports are made again each
// time, which is two thirds of what is written; a whole day each time would be 19.
func TestLateRowsAreWrittenOnceOrTwice(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for what, summed := range map[string]archive.Summed{
		"readings": {},
		"with rollups and reports": {Rollups: []schema.Window{schema.Hour, schema.Daily},
			Reports: []schema.Window{schema.Hour}, By: []schema.By{schema.ByTenant}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			most := 3.0
			if len(summed.Rollups) > 0 {
				most = 12
			}
			lateRowsTrickle(t, newTrickle(t, summed), most)
		})
	}
}

func lateRowsTrickle(t *testing.T, c *trickle, most float64) {
	t.Helper()
	hours := *trickleHours
	late := make([]map[int][]tables.Op, hours)
	readings := c.p.Client.Table(c.p.Names.Readings())
	for d := range *trickleDevices {
		c.join(t, d)
		var ops []tables.Op
		for n := range *trickleRows {
			if rand.Float64() >= *trickleLate {
				ops = append(ops, c.row(d, n))
				continue
			}
			hour := rand.IntN(hours)
			if late[hour] == nil {
				late[hour] = map[int][]tables.Op{}
			}
			late[hour][d] = append(late[hour][d], c.row(d, n))
		}
		for len(ops) > 0 {
			n := min(len(ops), tables.MaxOps)
			must.Have(readings.Submit(t.Context(), ops[:n]))(t)
			ops = ops[n:]
		}
	}
	must.Succeed(t, c.m.MakeDay(t.Context(), c.of))
	first, peak := c.written.Load(), 0
	for _, devices := range late {
		var asked []schema.DeviceID
		for d, ops := range devices {
			must.Have(readings.Submit(t.Context(), ops))(t)
			asked = append(asked, c.device(d))
		}
		if len(asked) > 0 {
			must.Succeed(t, c.m.MakeDay(t.Context(), c.of, asked...))
		}
		peak = max(peak, len(must.Have(collected(c.m.Readings(c.of.Tenant).AllFiles(t.Context())))(t)))
	}
	var kept, rows int64
	files := must.Have(collected(c.m.Readings(c.of.Tenant).AllFiles(t.Context())))(t)
	for _, f := range files {
		kept, rows = kept+f.Bytes, rows+f.Stats.Rows
	}
	for _, table := range c.m.Sums(c.of.Tenant) {
		for _, f := range must.Have(collected(table.AllFiles(t.Context())))(t) {
			kept += f.Bytes
		}
	}
	if want := int64(*trickleDevices * *trickleRows); rows != want {
		t.Errorf("%d rows in the table, want %d", rows, want)
	}
	for _, problem := range must.Have(c.m.VerifyDay(t.Context(), c.of))(t) {
		t.Error(problem)
	}
	ratio := float64(c.written.Load()) / float64(kept)
	t.Logf("%d rows, %.0f %% late: %d bytes at first, %d written, %d kept: %.2f written per byte kept; %d files, "+
		"at most %d; %d bytes of the log", rows, 100**trickleLate, first, c.written.Load(), kept, ratio, len(files), peak,
		c.logged.Load())
	if ratio > most {
		t.Errorf("%.2f bytes are written per byte kept", ratio)
	}
}
