package archive

import (
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// marking is the fold for Parquet files: it marks the days of samples, and their hours if asked for, which group jobs
// read again. Its state is that of a Fold without days, so that a pipeline can change from one to the other.
type marking struct {
	closeAfter time.Duration
	hourly     bool
}

var _ fold.Windowed = (*marking)(nil)

// Fold marks the days of samples, with or without values.
func (m *marking) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	if len(samples) == 0 {
		return fold.Result{State: state}, nil
	}
	out := fold.Result{State: days(nil).encode()}
	day, hour := Folder{Day: -1}, Folder{Day: -1}
	for i := range samples {
		f := Folder{Tenant: d.Tenant, Day: schema.DayOf(samples[i].Key.Ticks)}
		if f != day {
			day = f
			out.Effects = append(out.Effects, m.effect(d, f))
		}
		f.Hour = 1 + Hour(samples[i].Key.Ticks%tables.Day/tables.Hour)
		if m.hourly && f != hour {
			hour = f
			e := m.effect(d, f)
			e.Lapse = end(f.Day).Add(m.closeAfter)
			out.Effects = append(out.Effects, e)
		}
	}
	return out, nil
}

// effect returns what marks a folder for a device.
func (m *marking) effect(d schema.Member, f Folder) fold.Effect {
	from, to := f.Times()
	o := output(d, f.Day)
	if f.Hour > 0 {
		o.PartitionKey += "/" + hourPrefix + f.Hour.String()
	}
	return fold.Effect{Output: o, Properties: []tables.Property{}, Closed: true, From: from, To: to,
		Apart: to.Add(m.closeAfter), Mark: f.mark()}
}

// OpenFrom returns that nothing is open: files are made of rows and not of states.
func (*marking) OpenFrom(state []byte) (tables.Ticks, error) {
	if len(state) == 0 {
		return 0, nil
	}
	return tables.MaxTicks, nil
}

// Open returns nothing.
func (*marking) Open(schema.Member, []byte) ([]fold.Effect, error) { return nil, nil }
