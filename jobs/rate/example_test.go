package rate_test

import (
	"fmt"
	"time"

	"furrow/jobs"
	"furrow/jobs/rate"
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
	out, err := rate.Processor.Default().Fold.Fold(pump, nil, samples)
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range out.Effects {
		fmt.Println(e.Output.Table, e.Output.PartitionKey, e.Output.RowKey, "closed:", e.Closed)
		for _, p := range e.Properties {
			fmt.Println("  ", p.Name, p.Value)
		}
	}
	// Output:
	// rates contoso!1h!2026-11-20!2026-11 pump-7!0639307620000000000 closed: true
	//    litres ["0639307654800000000",12,"0639307655400000000",14,1,2,120,120,120,false]
	// rates contoso!1h!2026-11-20!2026-11 pump-7!0639307656000000000 closed: false
	//    litres ["0639307656000000000",17.5,"0639307656000000000",17.5,0,0,0,0,0,false]
	// rates contoso!1d!2026-11-20!2026-11 pump-7!0639307296000000000 closed: false
	//    litres ["0639307654800000000",12,"0639307656000000000",17.5,2,5.5,120,210,210,false]
	// rates contoso!2026-11 pump-7 closed: false
	//    litres ["0639307656000000000",17.5,3.5,210,null,null]
}
