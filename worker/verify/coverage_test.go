package verify_test

import (
	"furrow/jobs/coverage"
	"furrow/tables"
)

// window returns a day as a window of coverages.
func window(day tables.Ticks) coverage.Window {
	return coverage.Window{From: day, To: day + tables.Day}
}

func known(day tables.Ticks) coverage.Known { return coverage.Known{At: day + 20*tables.Day} }
