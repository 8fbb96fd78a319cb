package model

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/worker"
)

// An Overview is the answer of /v1/overview: how a fleet is, in a few numbers.
type Overview struct {
	At      time.Time `json:"at"`
	Devices int       `json:"devices"`
	New     int       `json:"new"` // devices that have not sent their first reading
	Silent  int       `json:"silent"`
	Held    int       `json:"held"`
	Revoked int       `json:"revoked"`
	Placed  int       `json:"placed"` // devices with a position

	Incidents OpenIncidents `json:"incidents"` // of these devices

	// of the whole fleet, by the last runs; absent with a filter
	ReadingsPerMinute *float64 `json:"readingsPerMinute,omitempty"`
	// greatest age that an unfolded reading can have, of the whole fleet; absent with a filter
	LagSeconds *float64 `json:"lagSeconds,omitempty"`
	Counted
}

// Overview counts the devices that a filter selects. It takes no storage operations of its own.
func (ms *Maps) Overview(ctx context.Context, f Filter) (Overview, error) {
	f, err := ms.decider.ready(ctx, f)
	if err != nil {
		return Overview{}, err
	}
	out := ms.overview(f)
	out.Incidents = ms.incidents.countOpen(f)
	out.At = ms.accounts.watch.touch().UTC().Truncate(time.Millisecond)
	if perMinute, lag, known := ms.accounts.pace(time.Now()); known && f == (Filter{}) {
		out.ReadingsPerMinute, out.LagSeconds = &perMinute, new(lag.Seconds())
	}
	return out, nil
}

func (ms *Maps) overview(f Filter) (out Overview) {
	x, now := ms.accounts.index, ms.accounts.now()
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.matcher(f, now)
	for i, d := range x.inFleet() {
		if !m.matches(i) {
			continue
		}
		out.Devices++
		if d.flags&isPlaced != 0 {
			out.Placed++
		}
		switch d.state(now) {
		case Unheard:
			out.New++
		case Silent:
			out.Silent++
		case Held:
			out.Held++
		case Revoked:
			out.Revoked++
		}
	}
	return out
}

// A pace is how fast a pipeline folds, by the figures of its last runs.
type pace struct {
	perMinute float64      // readings
	done      tables.Ticks // slot of the last run that is done
	folded    time.Time    // up to when that run has folded what devices sent
	behind    time.Duration
}

// paceOf returns the pace of a pipeline; the one before where no run of these is done.
func paceOf(p Pipeline, runs []worker.RunFigures, before *pace) *pace {
	last, ok := worker.LastDone(runs)
	if !ok {
		return before
	}
	now := &pace{done: last.Run.Slot, folded: last.Run.Slot.Time().Add(-p.Settle), behind: worker.Totals(runs).Lag}
	readings, n := int64(0), 0
	for _, r := range runs {
		if r.Done() {
			readings, n = readings+r.Workers.Rows, n+1
		}
	}
	now.perMinute = float64(readings) / (float64(n) * p.Cadence.Minutes())
	return now
}
