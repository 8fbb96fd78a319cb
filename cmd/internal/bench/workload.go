package bench

import "context"

// A workload is what every client does over and over, and one row of the report.
type workload struct {
	name  string
	about string   // for the help text
	rows  int      // rows, or blocks, that one operation moves; 0 or 1: none is counted
	parts []string // steps of an operation that are rows of the report by themselves
	reads bool     // it reads a table that is filled for it
	null  bool     // it can be measured against a server that answers 204 to everything

	// prepare makes what the operation works on, in a table of so many rows if it reads one.
	prepare func(ctx context.Context, e *endpoint, tableRows int) (operation, error)
}

// An operation is called by one client at a time per client number. It calls
// lap at the end of each part, in the order of the workload's parts.
type operation func(ctx context.Context, client int, lap func()) error

// workloads are the rows of the report, in its order.
func workloads() []*workload {
	return []*workload{
		inserts(), transactions(), gets(), ranges(), emptyRanges(), messages(), blocks(),
	}
}

// Names are the workloads that [Config] can ask for, each with a line about it.
func Names() (names, abouts []string) {
	for _, w := range workloads() {
		names = append(names, w.name)
		abouts = append(abouts, w.about)
	}
	return names, abouts
}
