package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Interval is how often the devices of a model send that state nothing, as some of them tell.
type Interval struct {
	Model   string  `json:"model,omitempty"` // absent: of the devices of no model
	Devices int     `json:"devices"`         // that state nothing
	Looked  int     `json:"looked"`          // devices of these that tell
	Seconds float64 `json:"everySeconds"`
}

// String proposes to state it.
func (i Interval) String() string {
	of, where := "no model", "at the top of the configuration"
	if i.Model != "" {
		of, where = "model "+i.Model, "in the model"
	}
	every := schema.FormatDuration(time.Duration(i.Seconds) * time.Second)
	return fmt.Sprintf("%d devices of %s send about every %s, as %d of them tell: state every: %s %s, and they are "+
		"silent after three of these", i.Devices, of, every, i.Looked, every, where)
}

// Bounds of a look at a fleet.
const (
	intervalMembers = 300 // memberships that are read
	intervalDevices = 5   // of a model whose readings are read
	intervalModels  = 3
	intervalRows    = 1000 // of a device: one page
	fewestArrivals  = 4
	together        = 2 * time.Second // between rows that a device has sent at once
)

// Intervals returns how often devices send, by model, where stated says nothing of them. It goes by when rows arrived,
// of the first devices of a model among the first 300 of the fleet: at most 15 devices with three requests each.
func (f Rows) Intervals(
	ctx context.Context, stated func(schema.Member) time.Duration, model func(schema.Member) string,
) (all []Interval, err error) {
	unstated, n := map[string][]schema.Member{}, 0
	for m, err := range Readable(Devices(f).Members(ctx, DeviceSelector{}), new(Skipped)) {
		if err != nil {
			return nil, err
		}
		if n++; n > intervalMembers {
			break
		}
		if m.Spans.End() == 0 && !m.Revoked && stated(m) == 0 {
			unstated[model(m)] = append(unstated[model(m)], m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unstated))[:min(len(unstated), intervalModels)] {
		one, of := Interval{Model: name, Devices: len(unstated[name])}, []time.Duration(nil)
		for _, m := range unstated[name][:min(one.Devices, intervalDevices)] {
			arrived, err := f.arrivals(ctx, m)
			if err != nil {
				return nil, err
			}
			if every := usual(arrived); every > 0 {
				of = append(of, every)
			}
		}
		if one.Looked, one.Seconds = len(of), Agreed(of).Seconds(); one.Seconds > 0 {
			all = append(all, one)
		}
	}
	return all, nil
}

// arrivals returns when the newest rows of a device arrived, the oldest first. It takes three requests at most.
func (f Rows) arrivals(ctx context.Context, m schema.Member) (all []tables.Ticks, err error) {
	now := tables.TicksOf(time.Now())
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 8 * 24 * time.Hour} {
		all = nil
		rows := tables.RowsAfter(string(m.Device), now.Add(-back).String(), tables.MaxTicks.String())
		for page, err := range f.Tables.Table(m.Readings).Rows(ctx, tables.Query{Range: rows, Size: intervalRows}) {
			if errors.Is(err, tables.ErrNoTable) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			for _, e := range page.Rows {
				all = append(all, e.Timestamp)
			}
			break
		}
		if all = apart(all); len(all) >= fewestArrivals {
			break
		}
	}
	return all, nil
}

// apart returns the times that are not together with the one before.
func apart(all []tables.Ticks) []tables.Ticks {
	slices.Sort(all)
	return slices.CompactFunc(all, func(b, a tables.Ticks) bool { return b < a.Add(together) })
}

// usual returns the median of what lies between times; zero where there are too few.
func usual(all []tables.Ticks) time.Duration {
	if len(all) < fewestArrivals {
		return 0
	}
	var gaps []time.Duration
	for i := 1; i < len(all); i++ {
		gaps = append(gaps, all[i].Time().Sub(all[i-1].Time()))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// Agreed returns the interval that most devices have, about; zero where they do not agree.
func Agreed(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	every, near := all[len(all)/2], 0
	for _, one := range all {
		if one > every*3/4 && one < every*4/3 {
			near++
		}
	}
	if 2*near <= len(all) {
		return 0
	}
	return rounded(every)
}

// rounded returns the interval that somebody would state: the nearest of the usual ones, if it is near.
func rounded(every time.Duration) time.Duration {
	minutes := []int{1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440}
	near := time.Duration(0)
	for _, n := range minutes {
		near = cmp.Or(near, time.Duration(n)*time.Minute)
		if one := time.Duration(n) * time.Minute; (one - every).Abs() < (near - every).Abs() {
			near = one
		}
	}
	if (near - every).Abs() <= near/10 {
		return near
	}
	return max(every.Round(time.Second), time.Second)
}
