package jobstest

import (
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Litres are a pump and its readings of 12, 14 and 17.5 litres, a minute apart from 09:58 on: what the examples of the
// processors fold.
func Litres() (pump schema.Member, samples []fold.Sample) {
	start := tables.TicksOf(time.Date(2026, 11, 20, 9, 58, 0, 0, time.UTC))
	for i, litres := range []float64{12, 14, 17.5} {
		samples = append(samples, fold.Sample{
			Key:    schema.RowKey{Ticks: start.Add(time.Duration(i) * time.Minute)},
			Values: []fold.SensorValue{{Sensor: "litres", Is: fold.Number, Number: litres}},
		})
	}
	return schema.Member{Device: "pump-7", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}, samples
}

// Print prints what a fold asks for, or its error.
func Print(out fold.Result, err error) {
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range out.Effects {
		fmt.Println(e.Output.Table, e.Output.PartitionKey, e.Output.RowKey, "closed:", e.Closed)
		for _, p := range e.Properties {
			fmt.Println("  ", p.Name, p.Value)
		}
	}
}
