package archive_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var (
	sizeDevices  = flag.Int("archive.devices", 10, "how many devices the day of TestSizeOfADay has")
	sizeReadings = flag.Int("archive.readings", 144, "how many readings each of them has, of six sensors")
	sizeStorage  = flag.String("archive.storage", "", "connection string of its storage; without one, it is in the "+
		"same process, and in its memory")
)

// TestSizeOfADay makes a tenant's day, and makes it again, and logs what they take: bytes, operations, time and memory.
func TestSizeOfADay(t *testing.T) {
	t.Parallel()
	storage := *sizeStorage
	if storage == "" {
		storage = azuretest.Local(t).ConnectionString()
	}
	account := must.Have(tables.ParseAccount(storage))(t)
	names := must.Have(schema.ParseNames(azuretest.Name("s")[:10]))(t)
	sent := &sentOperations{count: map[string]int{}}
	client := must.Have(tables.Connect(tables.Config{Account: account,
		OnOperation: func(_ context.Context, o tables.Operation) { sent.add(fmt.Sprint("table ", o.Kind)) }}))(t)
	store := must.Have(archive.Connect(archive.StoreConfig{Account: account, Container: names.Archive(),
		OnOperation: func(_ context.Context, o archive.Operation) { sent.add(fmt.Sprint("blob ", o.Kind)) }}))(t)
	must.Succeed(t, store.Create(t.Context()))
	day := schema.DayOf(tables.TicksOf(time.Now())) - 1
	of := archive.TableDay{Tenant: "contoso", Day: day, Month: schema.Month{Year: 2026, Month: 11}}
	p := &jobs.Pipeline{Name: "archive", Client: client, Names: names}
	fillDay(t, p, of)
	want := int64(*sizeDevices) * int64(*sizeReadings)
	must.Succeed(t, client.Table(names.Catalog()).Create(t.Context()))
	made := (&archive.Config{}).Grouping(p.Source(), store)
	made.Settle = time.Second
	for _, first := range []string{"first", "again"} {
		sent.count = map[string]int{}
		runtime.GC()
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Linux: the peak begins now
		began := time.Now()
		must.Succeed(t, made.MakeDay(t.Context(), of))
		took := time.Since(began)
		var inTable, size int64
		for f, err := range made.Readings(of.Tenant).Files(t.Context(), day, day) {
			must.Succeed(t, err)
			inTable, size = inTable+f.Stats.Rows, size+f.Bytes
		}
		t.Logf("%s: %d devices, %.2f bytes a reading, %v, %.0f readings a second, peak memory %s; requests: %v", first,
			*sizeDevices, float64(size)/float64(inTable), took.Round(time.Millisecond), float64(inTable)/took.Seconds(),
			peakMemory(), sent.count)
		if inTable != want {
			t.Errorf("%d readings in the table, want %d", inTable, want)
		}
	}
}

// fillDay stores a fleet with the readings of a day.
func fillDay(t *testing.T, p *jobs.Pipeline, f archive.TableDay) {
	t.Helper()
	readings := p.Names.Readings()
	for _, name := range []string{readings, p.Names.Fleet(), p.Names.Partitions(p.Name)} {
		must.Succeed(t, p.Client.Table(name).Create(t.Context()))
	}
	devices := make(chan int)
	var fillers sync.WaitGroup
	for range 4 {
		fillers.Go(func() {
			for n := range devices {
				if err := fillDevice(t.Context(), p, f, readings, n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range *sizeDevices {
		devices <- n
	}
	close(devices)
	fillers.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func fillDevice(ctx context.Context, p *jobs.Pipeline, f archive.TableDay, readings string, n int) error {
	m := schema.Member{Month: f.Month, Device: schema.DeviceID(fmt.Sprintf("site-%03d:pump-%06d", n/100, n)),
		Tenant: f.Tenant, Readings: readings}
	member, err := m.Entity()
	if err != nil {
		return err
	}
	track := tables.Entity{PartitionKey: f.Month.String(), RowKey: string(m.Key())}
	track.Set(schema.TrackCheckpoint, tables.String((f.Day + 1).Start().String()))
	track.Set(schema.TrackLedgerFrom, tables.Int64(int64(tables.MaxTicks))) // it no longer covers the day
	for table, e := range map[string]tables.Entity{p.Names.Fleet(): member, p.Names.Partitions(p.Name): track} {
		if _, err := p.Client.Table(table).Do(ctx, tables.Insert(e)); err != nil {
			return err
		}
	}
	var ops []tables.Op
	for r := range *sizeReadings {
		at := f.Day.Start().Add(time.Duration(r)*24*time.Hour/time.Duration(*sizeReadings) +
			time.Duration(n%997)*time.Microsecond)
		e := tables.Entity{PartitionKey: string(m.Device), RowKey: at.String()}
		wave := math.Sin(float64(r)/200 + float64(n))
		for s, name := range []string{"temperature", "humidity", "pressure", "flow", "voltage", "battery"} {
			noise := math.Mod(float64(r*7919+n*104729+s*1299709), 97) / 97
			e.Set(name, tables.Double(math.Round((20*float64(s+1)+5*wave+noise)*100)/100))
		}
		if ops = append(ops, tables.Insert(e)); len(ops) == tables.MaxOps || r == *sizeReadings-1 {
			if _, err := p.Client.Table(readings).Submit(ctx, ops); err != nil {
				return err
			}
			ops = nil
		}
	}
	return nil
}

// sentOperations counts requests by kind.
type sentOperations struct {
	mu    sync.Mutex
	count map[string]int
}

func (s *sentOperations) add(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[kind]++
}

// peakMemory returns the peak of the process's resident memory, where the system tells.
func peakMemory() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		if kib, is := strings.CutPrefix(string(line), "VmHWM:"); is {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")))
			return fmt.Sprint(n>>10, " MiB")
		}
	}
	return "unknown"
}
