package archive

import (
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// marking is the fold for Parquet files: it marks the days of samples, which group jobs read again. Its state is that
// of a Fold without days, so that a pipeline can change from one to the other.
type marking struct{ closeAfter time.Duration }

var _ jobs.Windowed = (*marking)(nil)

// Fold marks the days of samples, with or without values.
func (m *marking) Fold(d schema.Member, state []byte, samples []jobs.Sample) (jobs.FoldResult, error) {
	if len(samples) == 0 {
		return jobs.FoldResult{State: state}, nil
	}
	out := jobs.FoldResult{State: days(nil).encode()}
	last := schema.Day(-1)
	for i := range samples {
		day := schema.DayOf(samples[i].Key.Ticks)
		if day == last {
			continue
		}
		last = day
		out.Effects = append(out.Effects, jobs.Effect{Output: output(d, day), Properties: []tables.Property{}, Closed: true,
			From: day.Start(), To: end(day), Apart: end(day).Add(m.closeAfter),
			Mark: schema.Mark{Kind: schema.ArchiveMark, Tenant: d.Tenant, Name: day.String()}})
	}
	return out, nil
}

// OpenFrom returns that nothing is open: files are made of rows and not of states.
func (*marking) OpenFrom(state []byte) (tables.Ticks, error) {
	if len(state) == 0 {
		return 0, nil
	}
	return tables.MaxTicks, nil
}

// Open returns nothing.
func (*marking) Open(schema.Member, []byte) ([]jobs.Effect, error) { return nil, nil }
