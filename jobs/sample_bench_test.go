package jobs

import (
	"fmt"
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// BenchmarkSample reads a row of six sensors, and one of 1,000.
func BenchmarkSample(b *testing.B) {
	text := "["
	for i := range 999 {
		text += fmt.Sprint(i, ",")
	}
	six := []tables.Property{{Name: "temperature", Value: tables.Double(21.5)},
		{Name: "humidity", Value: tables.String("40.5")}, {Name: "pressure", Value: tables.Double(101325)},
		{Name: "battery", Value: tables.Int32(3)}, {Name: "door", Value: tables.String("open")},
		{Name: "alarm", Value: tables.Boolean(true)}}
	for name, properties := range map[string][]tables.Property{"6": six,
		"1000": {{Name: "v", Value: tables.String(text + "1]")}}} {
		r := schema.Reading{Key: schema.RowKey{Ticks: 1}, Properties: properties}
		b.Run(name, func(b *testing.B) {
			var s Sensors
			b.ReportAllocs()
			for b.Loop() {
				if sample, refused := s.Sample(r); len(sample.Values) < 6 || refused != nil {
					b.Fatal(refused)
				}
			}
		})
	}
}
