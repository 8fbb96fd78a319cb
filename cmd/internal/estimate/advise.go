package estimate

import (
	"fmt"
	"slices"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables/schema"
)

// An Advice is a change that makes a fleet cheaper, with all those before it.
type Advice struct {
	Change string  `json:"change"`
	Total  float64 `json:"total"` // dollars a month with it
}

// Advise returns what makes a fleet cheapest whose readings are to be among its live values so long after a device has
// taken them, besides the time that a run takes. The change that saves most comes first.
func Advise(f Fleet, c *config.Config, fresh time.Duration) (all []Advice, err error) {
	now, err := Of(f, c)
	for total := now.Cost.Total; err == nil; {
		var best *change
		for _, change := range changes(f, c, fresh) {
			e, err := Of(change.fleet, change.config)
			if err != nil {
				return nil, err
			}
			if e.Cost.Total < total {
				best, total = &change, e.Cost.Total
			}
		}
		if best == nil {
			break
		}
		f, c, all = best.fleet, best.config, append(all, Advice{best.name, total})
	}
	return all, err
}

// A change is one that an operator can make, and what there would be with it.
type change struct {
	name   string
	fleet  Fleet
	config *config.Config
}

// changes returns those that are left. A reading waits for others that are sent with it, and then for a run.
func changes(f Fleet, c *config.Config, fresh time.Duration) (all []change) {
	slowest := time.Duration(0)
	for i, p := range c.InFile() {
		if p.Cadence > fresh {
			continue // its outputs are not what has to be fresh
		}
		slowest = max(slowest, p.Cadence)
		if cadence := longest(fresh - (f.sends() - f.Every)); p.Cadence < cadence {
			changed := *c
			changed.Pipelines = slices.Clone(c.Pipelines)
			changed.Pipelines[i].Cadence = cadence
			all = append(all, change{fmt.Sprintf("a cadence of %s of pipeline %s", schema.FormatDuration(cadence), p.Name), f,
				&changed})
		}
	}
	if n := int(min((fresh-slowest)/f.Every+1, mostOperations)); n > f.AtOnce {
		together := f
		together.AtOnce = n
		all = append(all, change{fmt.Sprintf("devices that send %d readings in one transaction", n), together, c})
	}
	if f.Token < oneDay {
		long := f
		long.Token = oneDay
		all = append(all, change{"tokens that live for a day", long, c})
	}
	return all
}

// mostCadence is the longest that a configuration may have.
const mostCadence = 366 * oneDay

// longest returns the longest cadence up to a time: one that divides a day, from a minute on in whole minutes, or whole
// days. Below a second there is none.
func longest(until time.Duration) time.Duration {
	unit := time.Minute
	switch {
	case until < time.Second:
		return 0
	case until < time.Minute:
		unit = time.Second
	case until >= oneDay:
		return min(until, mostCadence).Truncate(oneDay)
	}
	slots := (oneDay + until - 1) / until
	for oneDay/unit%slots != 0 {
		slots++
	}
	return oneDay / slots
}
