package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
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

type stateReading struct {
	at    time.Time
	state string
}

type stateSpans struct {
	all     []StateSpan
	more    bool
	skipped query.Skipped
}

// stateSpans reads the states of a sensor.
func (cs *Charts) stateSpans(ctx context.Context, m schema.Member, q SeriesQuery) (stateSpans, error) {
	span := query.Span{From: tables.TicksOf(q.From), To: tables.TicksOf(q.To)}
	key := fmt.Sprintf("%s %s %s %s", ofMember(m), q.Sensor, span.From, span.To)
	return cs.states.get(ctx, key, seriesAge(q.To.Sub(q.From)), func(ctx context.Context) (found stateSpans, err error) {
		ask := query.Question{Scope: query.ScopeOf(m), Span: span, Limit: maxStateRows}
		sensors, n := cs.accounts.sensorsOf(m), 0
		var readings []stateReading
		for r, err := range query.Readable(cs.accounts.fleetOf(m.Device).Rows().Readings(ctx, ask), &found.skipped) {
			if err != nil {
				return found, err
			}
			n++
			sample, err := r.Sample(sensors)
			if err != nil {
				found.skipped.N++
				continue
			}
			for _, v := range sample.Values {
				if v.Sensor == q.Sensor && v.Is == fold.State {
					readings = append(readings, stateReading{r.Time.Time().UTC(), v.State})
				}
			}
		}
		found.all = spansOf(readings, q.To)
		found.more = n == maxStateRows || len(found.all) > maxPoints
		found.all = found.all[:min(len(found.all), maxPoints)]
		return found, nil
	})
}

// spansOf joins readings with the same state. A state lasts until the next reading, or for the usual interval where the
// next one comes after more than three of them.
func spansOf(readings []stateReading, to time.Time) (all []StateSpan) {
	var apart []time.Duration
	for i := 1; i < len(readings); i++ {
		apart = append(apart, readings[i].at.Sub(readings[i-1].at))
	}
	usual := time.Minute
	if slices.Sort(apart); len(apart) > 0 {
		usual = max(time.Second, apart[len(apart)/2])
	}
	for i, r := range readings {
		until := r.at.Add(usual)
		if i+1 < len(readings) && readings[i+1].at.Sub(r.at) <= 3*usual {
			until = readings[i+1].at
		}
		if until.After(to) {
			until = to
		}
		if last := len(all) - 1; last >= 0 && all[last].State == r.state && all[last].To.Equal(r.at) {
			all[last].To = until
			continue
		}
		all = append(all, StateSpan{r.at, until, r.state})
	}
	return all
}
