package archive

import (
	"errors"
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// marking is the fold of the archive: it marks the days of samples, and their hours if asked for, whose rows a group
// job reads. It has no state. That of an earlier release has days that were waiting for their end: they are marked.
type marking struct {
	closeAfter time.Duration
	hourly     bool
}

var (
	_ fold.Windowed = (*marking)(nil)
	_ fold.Closer   = (*marking)(nil)
)

// Fold marks the days of samples, with or without values.
func (m *marking) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	out, err := m.Close(d, state, 0)
	if err != nil || len(samples) == 0 {
		return out, err
	}
	out.State = noDays()
	day, hour := TableDay{Day: -1}, TableDay{Day: -1}
	for i := range samples {
		of := TableDay{Tenant: d.Tenant, Day: schema.DayOf(samples[i].Key.Ticks)}
		if of != day {
			day = of
			out.Effects = append(out.Effects, m.effect(d, of))
		}
		of.Hour = 1 + Hour(samples[i].Key.Ticks%tables.Day/tables.Hour)
		if m.hourly && of != hour {
			hour = of
			e := m.effect(d, of)
			e.Lapse = end(of.Day).Add(m.closeAfter)
			out.Effects = append(out.Effects, e)
		}
	}
	return out, nil
}

// effect returns what marks a day or hour for a device.
func (m *marking) effect(d schema.Member, of TableDay) fold.Effect {
	from, to := of.Times()
	o := fold.Output{PartitionKey: d.Tenant.Key() + schema.Separator + of.When(), RowKey: string(d.Device)}
	return fold.Effect{Output: o, Properties: []tables.Property{}, Closed: true, From: from, To: to,
		Apart: to.Add(m.closeAfter), Mark: of.mark()}
}

// Close marks the days that a state has.
func (m *marking) Close(d schema.Member, state []byte, _ tables.Ticks) (fold.Result, error) {
	out := fold.Result{State: state}
	waiting, err := daysOf(state)
	if err != nil || len(waiting) == 0 {
		return out, m.wrap(d, err)
	}
	for _, day := range waiting {
		out.Effects = append(out.Effects, m.effect(d, TableDay{Tenant: d.Tenant, Day: day}))
	}
	out.State = noDays()
	return out, nil
}

// Next returns zero while a state has days to mark.
func (m *marking) Next(state []byte) (tables.Ticks, error) {
	if waiting, err := daysOf(state); err != nil || len(waiting) > 0 {
		return 0, err
	}
	return tables.MaxTicks, nil
}

func (m *marking) wrap(d schema.Member, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("archive of %s: %w", d.Device, err)
}

// OpenFrom returns the beginning of the first day that a state has. Otherwise nothing is open: days are made of rows.
func (m *marking) OpenFrom(state []byte) (tables.Ticks, error) {
	waiting, err := daysOf(state)
	switch {
	case err != nil || len(state) == 0:
		return 0, err
	case len(waiting) == 0:
		return tables.MaxTicks, nil
	}
	return waiting[0].Start(), nil
}

// Open returns nothing.
func (*marking) Open(schema.Member, []byte) ([]fold.Effect, error) { return nil, nil }

// A state has days, each as the difference to the one before.
const (
	stateVersion = 1
	maxState     = 16 << 10 // bytes
)

// noDays returns the state of a device that has been folded.
func noDays() []byte { return pack.Int([]byte{stateVersion}, 0) }

var errVersion = errors.New("the state has a version that this program does not know")

// daysOf reads a state. No bytes are the state of a device that was never folded, because storage returns nil as no
// bytes.
func daysOf(b []byte) ([]schema.Day, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != stateVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	all := make([]schema.Day, 0, r.Count())
	before, last := schema.Day(-1), schema.DayOf(tables.MaxTicks)
	for range cap(all) {
		after := schema.Day(r.Int())
		if after < 1 || after > last-before {
			return nil, pack.ErrDamaged
		}
		before += after
		all = append(all, before)
	}
	return all, r.Err()
}
