package rollup

import (
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Bucket is the aggregates of a device in a window of time. It gets no more samples.
type Bucket struct {
	Window  schema.Window
	Start   tables.Ticks
	Sensors map[string]Timed
}

// A Series folds all samples of one device at once, without a state that is stored. Its buckets are those of the table.
type Series struct{ run foldRun }

// NewSeries returns a Series with buckets of the given lengths.
func NewSeries(windows ...schema.Window) *Series {
	f := newFold(windows...)
	st, _ := f.decode(nil) // of no state, which is never damaged
	return &Series{foldRun{fold: f, state: st}}
}

// Add adds a sample, and returns the buckets that end before it. Samples come in row order.
func (s *Series) Add(sample *fold.Sample) (ended []Bucket, err error) {
	for i := range s.run.state.open {
		if b := &s.run.state.open[i]; b.begun && b.window.Start(sample.Key.Ticks) != b.start {
			ended = append(ended, s.bucket(b)...)
			b.changed = false // no output of it is wanted
		}
	}
	err = s.run.sample(sample)
	s.run.out = fold.Result{}
	return ended, err
}

// End returns the buckets that are open.
func (s *Series) End() (ended []Bucket) {
	for i := range s.run.state.open {
		ended = append(ended, s.bucket(&s.run.state.open[i])...)
	}
	return ended
}

// bucket returns a bucket, unless no sample had a number.
func (s *Series) bucket(b *bucket) []Bucket {
	if b.sensors == 0 {
		return nil
	}
	sensors := make(map[string]Timed, b.sensors)
	for i, a := range b.aggregates {
		if a.Count > 0 {
			sensors[s.run.state.names[i]] = a
		}
	}
	return []Bucket{{b.window, b.start, sensors}}
}
