package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A StateSpan is a time during which a sensor had one state.
type StateSpan struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"` // when another state or a gap began
	State string    `json:"state"`
}

// maxStateRows limits the rows that are read for a timeline of states: rollups have none.
const maxStateRows = 10_000

type stateSpans struct {
	all     []StateSpan
	more    bool
	skipped query.Skipped
}

// stateSpans reads the states of a sensor.
func (cs *Charts) stateSpans(ctx context.Context, m schema.Member, q SeriesQuery) (stateSpans, error) {
	span := spanOf(q.From, q.To)
	key := fmt.Sprintf("%s %s %s %s", ofMember(m), q.Sensor, span.From, span.To)
	return cs.states.get(ctx, key, seriesAge(q.To.Sub(q.From)), func(ctx context.Context) (found stateSpans, err error) {
		ask := query.Question{Scope: query.ScopeOf(m), Span: span, Limit: maxStateRows}
		var states []latest.Value
		rows := 0
		for v, err := range cs.valuesOf(ctx, ask, q.Sensor, &rows, &found.skipped) {
			if err != nil {
				return found, err
			}
			if v.Is == fold.State {
				states = append(states, v)
			}
		}
		found.all = spansOf(states, q.To)
		found.more = rows == maxStateRows || len(found.all) > maxPoints
		found.all = found.all[:min(len(found.all), maxPoints)]
		return found, nil
	})
}

// spansOf joins states that are the same. A state lasts until the next one, or for the usual interval where the next
// one comes after more than three of them.
func spansOf(states []latest.Value, to time.Time) (all []StateSpan) {
	var apart []time.Duration
	for i := 1; i < len(states); i++ {
		apart = append(apart, states[i].At.Time().Sub(states[i-1].At.Time()))
	}
	usual := time.Minute
	if slices.Sort(apart); len(apart) > 0 {
		usual = max(time.Second, apart[len(apart)/2])
	}
	for i, state := range states {
		at := state.At.Time().UTC()
		until := at.Add(usual)
		if i+1 < len(states) && states[i+1].At.Time().Sub(at) <= 3*usual {
			until = states[i+1].At.Time().UTC()
		}
		if until.After(to) {
			until = to
		}
		if last := len(all) - 1; last >= 0 && all[last].State == state.State && all[last].To.Equal(at) {
			all[last].To = until
			continue
		}
		all = append(all, StateSpan{at, until, state.State})
	}
	return all
}
