package latest_test

import (
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
)

func ExampleProcessor() {
	pump, litres := jobstest.Litres()
	jobstest.Print(latest.Processor.Default().Fold.Fold(pump, nil, litres))
	// Output:
	// latest contoso!2026-11 pump-7 closed: false
	//    litres ["0639307656000000000",17.5]
}
