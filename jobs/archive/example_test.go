package archive_test

import (
	"fmt"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
)

func ExampleProcessor() {
	start := tables.TicksOf(time.Date(2026, 11, 20, 9, 58, 0, 0, time.UTC))
	var samples []jobs.Sample
	for i, litres := range []float64{12, 14, 17.5} {
		samples = append(samples, jobs.Sample{
			Key:    schema.RowKey{Ticks: start.Add(time.Duration(i) * time.Minute)},
			Values: []jobs.SensorValue{{Sensor: "litres", Is: jobs.Number, Number: litres}},
		})
	}
	pump := schema.Member{Device: "pump-7", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}
	// The archive notes which days have readings, and asks for the object of a day that is over.
	fold := archive.Processor.Default().Fold.(jobs.Closer)
	out, err := fold.Fold(pump, nil, samples)
	if err != nil {
		fmt.Println(err)
	}
	out, err = fold.Close(pump, out.State, start.Add(24*time.Hour))
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range out.Effects {
		fmt.Println(e.Output.PartitionKey + "/" + e.Output.RowKey)
	}
	// Output:
	// readings/tenant=contoso/date=2026-11-20/pump-7.jsonl.gz
}
