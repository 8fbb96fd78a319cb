package rollup_test

import (
	"furrow/jobs/jobstest"
	"furrow/jobs/rollup"
)

func ExampleProcessor() {
	pump, litres := jobstest.Litres()
	jobstest.Print(rollup.Processor.Default().Fold.Fold(pump, nil, litres))
	// Output:
	// rollups contoso!1m!2026-11-20!2026-11 pump-7!0639307654800000000 closed: true
	//    litres [1,12,12,12,12,12]
	// rollups contoso!1m!2026-11-20!2026-11 pump-7!0639307655400000000 closed: true
	//    litres [1,14,14,14,14,14]
	// rollups contoso!1h!2026-11-20!2026-11 pump-7!0639307620000000000 closed: true
	//    litres [2,26,12,14,12,14]
	// rollups contoso!1m!2026-11-20!2026-11 pump-7!0639307656000000000 closed: false
	//    litres [1,17.5,17.5,17.5,17.5,17.5]
	// rollups contoso!1h!2026-11-20!2026-11 pump-7!0639307656000000000 closed: false
	//    litres [1,17.5,17.5,17.5,17.5,17.5]
	// rollups contoso!1d!2026-11-20!2026-11 pump-7!0639307296000000000 closed: false
	//    litres [3,43.5,12,17.5,12,17.5]
}
