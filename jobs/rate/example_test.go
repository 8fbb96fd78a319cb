package rate_test

import (
	"furrow/jobs/jobstest"
	"furrow/jobs/rate"
)

func ExampleProcessor() {
	pump, litres := jobstest.Litres()
	jobstest.Print(rate.Processor.Default().Fold.Fold(pump, nil, litres))
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
