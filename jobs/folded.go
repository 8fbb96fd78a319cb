package jobs

import "time"

// Folded says what one call of a processor took and made.
type Folded struct {
	Processor string
	Rows      int // samples that it was given
	Outputs   int // that it wants written
	Rejects   int // values that it refused
	Took      time.Duration
}

// timed tells onFold about a call of a processor. Without onFold it costs nothing.
func (d *deviceRun) timed(p Configured, rows int, call func() (FoldResult, error)) (FoldResult, error) {
	if d.onFold == nil {
		return call()
	}
	began := time.Now()
	out, err := call()
	d.onFold(Folded{Processor: p.Name, Rows: rows, Outputs: len(out.Effects), Rejects: len(out.Refused),
		Took: time.Since(began)})
	return out, err
}
