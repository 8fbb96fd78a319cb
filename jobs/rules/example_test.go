package rules_test

import (
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/rules"
)

// A job watches samples and the time that passes. Replay does both.
func ExampleProcessor() {
	above := 13.0
	much, err := rules.Processor.With(&rules.Config{Rules: []rules.Rule{{Name: "much", When: &rules.Threshold{
		Sensor: "litres", Limit: rules.Limit{Above: &rules.Bound{Number: above}}, For: 10 * time.Minute}}}}, fold.Setup{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pump, litres := jobstest.Litres()
	samples := func(yield func(fold.Sample, error) bool) {
		for _, s := range litres {
			if !yield(s, nil) {
				return
			}
		}
	}
	first, last := litres[0].Key.Ticks, litres[len(litres)-1].Key.Ticks
	for t, err := range much.Fold.(*rules.Fold).Replay(pump, fold.Known{}, samples, first, last.Add(time.Hour)) {
		fmt.Println(t.ID, t.What, t.At.Time().Format(time.TimeOnly), t.Text, err)
	}
	// Output:
	// much~pump-7~20261120T100900Z opened 10:09:00 litres is 17.5, above 13 for 10m <nil>
}
