package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// size returns the number in an environment variable, and skips the test without it.
func size(t *testing.T, name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		t.Skipf("a measurement: set %s to a number", name)
	}
	return n
}

// store writes rows, a transaction of a hundred at a time and four at once. Neighbours share a partition.
func (f *fixture) store(table string, n int, row func(i int) tables.Entity) {
	f.t.Helper()
	var writing sync.WaitGroup
	for w := range 4 {
		writing.Go(func() {
			for i := w * 100; i < n; i += 400 {
				var ops []tables.Op
				for k := i; k < min(n, i+100); k++ {
					ops = append(ops, tables.Insert(row(k)))
				}
				if _, err := f.client.Table(table).Submit(f.t.Context(), ops); err != nil {
					f.t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
}

// measure logs what a query costs.
func (f *fixture) measure(line string, args ...string) {
	f.t.Helper()
	f.asked()
	begin := time.Now()
	out, errs := f.both("query --format=jsonl "+line, args...)
	took := time.Since(begin).Round(time.Millisecond)
	f.t.Logf("query %s %q: %d requests, %v, %d lines; %s", line, args, len(f.asked()), took, strings.Count(out, "\n"),
		strings.TrimSpace(errs))
}

// TestQueriesOfADeviceWithManyRows measures, with FURROW_ROWS=10000000 in the environment.
func TestQueriesOfADeviceWithManyRows(t *testing.T) {
	n := size(t, "FURROW_ROWS")
	f := newObservedFixture(t)
	d := newDevice("fryer-1", "contoso", 2020, 1)
	f.add(d)
	key := func(i int) string { return tables.TicksOf(f.end.Add(time.Duration(i-n+1) * 10 * time.Second)).String() }
	begin := time.Now()
	f.store("readings", n, func(i int) tables.Entity {
		e := tables.Entity{PartitionKey: string(d.ID), RowKey: key(i)}
		e.Set("oil", tables.Double(150+float64(i%451)/10))
		e.Set("mode", tables.String([]string{"idle", "heat"}[i/1000%2]))
		if i%1_000_000 == 0 {
			t.Logf("%d rows after %v", i, time.Since(begin).Round(time.Second))
		}
		return e
	})
	track := tables.Entity{PartitionKey: d.Month.String(), RowKey: string(d.Member().Key())}
	track.Set(schema.TrackCheckpoint, tables.String(key(n-1)))
	live := f.client.Table(f.names.Partitions("live"))
	must(t, live.Create(t.Context()))
	_, err := live.Do(t.Context(), tables.Insert(track))
	must(t, err)
	t.Logf("%d rows written in %v", n, time.Since(begin).Round(time.Second))
	for range 2 {
		f.measure("fryer-1 --tail 3")
		f.measure("fryer-1 --row-key " + key(n/2))
		day := []string{"--from", f.end.AddDate(0, 0, -30).Format(time.RFC3339), "--to",
			f.end.AddDate(0, 0, -29).Format(time.RFC3339)}
		f.measure("fryer-1 --raw", append(day, "--where", "oil > 190")...)
		f.measure("fryer-1 --states", day...)
	}
}

// TestQueriesOfATenantWithManyDevices measures, with FURROW_DEVICES=100000 in the environment.
func TestQueriesOfATenantWithManyDevices(t *testing.T) {
	n := size(t, "FURROW_DEVICES")
	f := newObservedFixture(t)
	for table, shards := range map[string]int{"one": 1, "many": n / 5000} {
		tenant := schema.Tenant(table)
		member := func(i int) schema.Member {
			shard := i / 100 * shards / (n / 100)
			return schema.Member{Tenant: tenant, Device: schema.DeviceID(fmt.Sprintf("%s:%06d", table, i)),
				Readings: "readings", Month: schema.Month{Year: 2026, Month: 1, Shard: shard},
				Site:   schema.Site(fmt.Sprint("s", i/100%100)),
				Labels: map[string]string{"class": []string{"Fryer", "Oven"}[i%2]}}
		}
		f.store(f.names.Fleet(), n, func(i int) tables.Entity {
			e, err := member(i).Entity()
			must(t, err)
			return e
		})
		f.store(f.names.Output("latest"), n, func(i int) tables.Entity {
			m := member(i)
			e := tables.Entity{PartitionKey: schema.LatestPartition{Tenant: tenant, Month: m.Month}.String(),
				RowKey: string(m.Device)}
			for s, v := range map[string]float64{"oil": 150 + float64(i%4040)/100, "battery": 3, "temperature": 20} {
				e.Set(s, tables.String(latest.Value{At: tables.TicksOf(f.end), SensorValue: fold.SensorValue{Sensor: s, Number: v,
					Is: fold.Number}}.String()))
			}
			return e
		})
	}
	for range 2 {
		for _, tenant := range []string{"one", "many"} {
			line := "--latest --tenant " + tenant
			f.measure(line)
			f.measure(line, "--where", "oil > 190")
			f.measure(line, "--where", "oil > 190", "--sensors", "oil")
			f.measure(line, "--where", `oil > 190 and labels.class == "Fryer"`)
			f.measure(line, "--where", "oil > 190", "--site", "s7")
			f.measure(line, "--site", "s7")
		}
		file := t.TempDir() + "/site.yaml"
		must(t, os.WriteFile(file, []byte(mixedModels), 0o600))
		f.must("config apply", file)
	}
}
