package store_test

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// BenchmarkSize stores a day's readings of 6 sensors with two decimals, a minute apart, ten at a time from devices in
// turn. It says how many bytes a reading takes on disk when all files are compacted, and in the log until then.
func BenchmarkSize(b *testing.B) {
	const devices, rows, each = 100, 1440, 10
	for b.Loop() {
		s := must.Have(store.Open(vfs.NewMem(), "/data", 0, slog.New(slog.DiscardHandler)))(b)
		random := rand.New(rand.NewPCG(1, 1))
		start := store.ToTicks(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		var walks [devices][6]float64
		logged := 0
		for n := 0; n < rows*devices/each; n++ {
			batch := s.Batch()
			for i := range each {
				ticks := start + int64(n/devices*each+i)*6e8 + random.Int64N(1e7)
				key := fmt.Appendf(store.ID(1).Key(store.PrefixEntity), "contoso:device-%04d\x00%019d", n%devices, ticks)
				value := sensors(random, &walks[n%devices], ticks+random.Int64N(1e7)).Append(nil)
				logged += len(key) + len(value)
				batch.Set(key, value)
			}
			must.Succeed(b, s.Apply(batch)())
		}
		must.Succeed(b, s.Compact(b.Context()))
		b.ReportMetric(float64(s.Live())/devices/rows, "B/reading")
		b.ReportMetric(float64(logged)/devices/rows, "log-B/reading")
		must.Succeed(b, s.Close())
	}
}

// sensors takes the next step of random walks.
func sensors(random *rand.Rand, walks *[6]float64, stored int64) *entity.Entity {
	e := &entity.Entity{Timestamp: stored}
	for k, name := range []string{"temperature", "humidity", "pressure", "co2", "light", "battery"} {
		walks[k] += random.NormFloat64() * 0.3
		rounded := math.Round((math.Pow(10, float64(k%4))*2+walks[k])*100) / 100
		e.Properties = append(e.Properties,
			entity.Property{Name: name, Value: entity.Value{Type: entity.Double, Num: int64(math.Float64bits(rounded))}})
	}
	return e
}
