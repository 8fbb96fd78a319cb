package dashboard

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

var answered = flag.Int("dashboard.rows", 100_000, "how many rows BenchmarkAnswers reads")

// BenchmarkAnswers reads the rows of a device with three sensors, and a day by the hour of a hundredth as many devices
// with two, over TCP from embedded storage. It reports rows a second, and by how much the heap of the process grows.
func BenchmarkAnswers(b *testing.B) {
	const hours = 24
	rows, devices := *answered, *answered/100
	f := newFixture(b, 2, Config{Loopback: true})
	day := schema.DayOf(tables.TicksOf(time.Now())) - 1
	fill(b, f, f.Names.Readings(), rows, func(i int) tables.Entity {
		at := day.Start().Add(time.Duration(i) * 80 * time.Millisecond)
		e := tables.Entity{PartitionKey: "d0000", RowKey: at.String()}
		e.Set("temperature", tables.Double(20+float64(i%1000)/100))
		e.Set("pressure", tables.Double(1000+float64(i%77)))
		e.Set("door", tables.String([]string{"open", "shut"}[i%2]))
		return e
	})
	home := schema.RollupPartition{Tenant: "acme", Window: schema.Hour, Day: day,
		Month: schema.Month{Year: 2026, Month: 1}}
	device := func(i int) schema.DeviceID { return schema.DeviceID(fmt.Sprintf("acme-%05d", i)) }
	fill(b, f, f.Names.Output("rollups"), devices*hours, func(i int) tables.Entity {
		at := day.Start().Add(time.Duration(i%hours) * time.Hour)
		key := schema.RollupRow{Device: device(i / hours), Bucket: at}
		e := tables.Entity{PartitionKey: home.String(), RowKey: key.String()}
		a := rollup.Aggregate{Count: 60, Sum: 1234.5, Min: 19, Max: 23, First: 20, Last: 21}
		e.Set("temperature", tables.String(a.String()))
		e.Set("pressure", tables.String(a.String()))
		return e
	})
	var records []tables.Op
	for i := range devices {
		e, err := schema.Device{ID: device(i), Tenant: "acme", Month: home.Month, Status: schema.Active,
			Readings: f.Names.Readings()}.Entity()
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, tables.InsertOrReplace(e))
	}
	var g errgroup.Group
	g.SetLimit(64)
	for _, op := range records {
		g.Go(func() error { _, err := f.Client.Table(f.Names.Devices()).Do(b.Context(), op); return err })
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	url, _, _ := f.serve(b)
	for began := time.Now(); ; time.Sleep(time.Second) {
		w := f.get("/v1/query?window=1h&limit=1&tenant=acme&from=" + day.String())
		if w.Header().Get("Furrow-Count") == "1" || time.Since(began) > time.Minute {
			break // all records were read
		}
	}
	for _, c := range []struct {
		name, target string
		rows         int
	}{
		{"readings", "/v1/devices/d0000/readings?", rows},
		{"windows", "/v1/query?tenant=acme&window=1h", devices * hours},
	} {
		span := fmt.Sprintf("&from=%s&to=%s&limit=%d", day, day+1, c.rows)
		for _, format := range answers.ForPrograms() {
			b.Run(c.name+"/"+format, func(b *testing.B) {
				for b.Loop() {
					runtime.GC()
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					n, rows, next := int64(0), 0, ""
					for ok := true; ok; ok = next != "" {
						answer, err := http.Get(url + c.target + span + "&format=" + format + "&after=" + neturl.QueryEscape(next))
						if err != nil {
							b.Fatal(err)
						}
						part, err := io.Copy(io.Discard, answer.Body)
						answer.Body.Close()
						count, errCount := strconv.Atoi(answer.Header.Get("Furrow-Count"))
						if err != nil || errCount != nil {
							b.Fatalf("%d, %d bytes: %v, %v", answer.StatusCode, part, err, errCount)
						}
						n, rows, next = n+part, rows+count, answer.Header.Get("Furrow-Next")
					}
					if runtime.ReadMemStats(&after); rows != c.rows {
						b.Fatalf("%d of %d rows", rows, c.rows)
					}
					b.ReportMetric(float64(n)/float64(c.rows), "bytes/row")
					b.ReportMetric((float64(after.HeapSys)-float64(before.HeapSys))/(1<<20), "MiB-heap-growth")
				}
				b.ReportMetric(float64(c.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// fill writes rows of one partition.
func fill(b testing.TB, f *fixture, table string, n int, row func(int) tables.Entity) {
	b.Helper()
	var g errgroup.Group
	g.SetLimit(64) // transactions that are stored together
	for from := 0; from < n; from += 100 {
		g.Go(func() error {
			var ops []tables.Op
			for i := from; i < min(from+100, n); i++ {
				ops = append(ops, tables.InsertOrReplace(row(i)))
			}
			_, err := f.Client.Table(table).Submit(b.Context(), ops)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}
