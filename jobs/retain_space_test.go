package jobs_test

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

// BenchmarkSpaceGivenBack prints what the database of embedded storage has on disk before retention deletes 20,000
// readings of 3 kB, and up to a quarter of a minute later.
func BenchmarkSpaceGivenBack(b *testing.B) {
	for range b.N {
		f := jobstest.NewWorldSince(b, 20*days, 2, 20).NewFleet(b)
		var bytes int
		for _, d := range f.World.Devices {
			for n := range 100 {
				rows := make([]tables.Entity, 100)
				for i := range rows {
					at := ago(19).Add(time.Duration(100*n+i) * days / 1000)
					rows[i] = tables.Entity{PartitionKey: string(d), RowKey: (at + 1).String()}
					text := make([]byte, 3000)
					for j := range text {
						text[j] = byte('a' + rand.IntN(26))
					}
					rows[i].Set("text", tables.String(string(text)))
					bytes += len(text)
				}
				jobstest.Insert(b, f.World.Connect(b, nil).Table(f.Readings), rows...)
			}
		}
		p := f.Pipeline(b, nil)
		p.Processors = p.Processors[:1] // latest
		must.Succeed(b, f.Settle(b.Context(), p))
		disk := func() float64 {
			a := f.World.Account
			found := must.Have(local.FetchInspection(b.Context(), http.DefaultClient, a.Name, a.Key, a.Blob))(b)
			return float64(found.Disk) / (1 << 20)
		}
		before, began := disk(), time.Now()
		must.Succeed(b, f.Drain(b.Context(), retaining(b, f, nil, p)))
		took := time.Since(began)
		after := disk()
		for range 5 {
			if after < before-float64(bytes>>20)/2 { // the log keeps its files, for what is written next
				break
			}
			time.Sleep(3 * time.Second)
			after = disk()
		}
		b.Logf("%d MiB of readings; on disk before %.1f MiB; %v of retention, and %v later %.1f MiB", bytes>>20, before,
			took.Round(time.Millisecond), (time.Since(began) - took).Round(time.Second), after)
		b.ReportMetric(before, "MiB-before")
		b.ReportMetric(after, "MiB-after")
	}
}
