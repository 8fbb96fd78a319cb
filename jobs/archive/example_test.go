package archive_test

import (
	"fmt"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
)

func ExampleProcessor() {
	pump, litres := jobstest.Litres()
	// The archive notes which days have readings, and asks for the object of a day that is over.
	fold := archive.Processor.Default().Fold.(fold.Closer)
	out, err := fold.Fold(pump, nil, litres)
	if err != nil {
		fmt.Println(err)
	}
	jobstest.Print(fold.Close(pump, out.State, litres[0].Key.Ticks.Add(24*time.Hour)))
	// Output:
	// readings/tenant=contoso/date=2026-11-20 pump-7.jsonl.gz closed: true
}
