package model

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"furrow/jobs/fold"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// Gaps is the answer of /v1/devices/{id}/gaps.
type Gaps struct {
	Device string `json:"device"`
	// The property that the model of the device names. Its numbers count where row keys have none. Absent: it names
	// none.
	Sequence string `json:"sequence,omitempty"`
	Bounds
	Rows []answers.GapDay `json:"rows"`
	Extent
}

// Gaps returns the gaps in the numbers of a device's readings, from all rows of the span.
func (dr *DeviceRows) Gaps(ctx context.Context, device string, from, to time.Time) (Export, error) {
	o, err := dr.devices.owners.holder(ctx, device)
	if err != nil {
		return Export{}, err
	}
	means := dr.accounts.sensorsOf(o.member)
	out := &Gaps{Device: device, Sequence: means.Sequence, Bounds: Bounds{&from, &to, MaxRows}, Rows: []answers.GapDay{}}
	ask := gapsQuestion(o.member, means, spanOf(from, to))
	ask.Rows = new(atomic.Int64)
	all := dr.accounts.fleetOf(o.member.Device).Rows().Gaps(ctx, ask)
	return paging[query.GapDay, answers.GapDay]{records: all, rows: ask.Rows,
		row: func(d query.GapDay) (row answers.GapDay, wanted bool, err error) {
			if ask.Rows.Load() > maxRead {
				err = queryErrorf("the span has more than %d rows: ask for a shorter one", maxRead)
			}
			return answers.GapDayOf(d), true, err
		}}.export(out), nil
}

// RecentGaps are those of a page: of the last days.
type RecentGaps struct {
	Numbered bool   // its readings have, or should have, numbers
	Sequence string // the property that the model of the device names; empty: it names none
	Days     []answers.GapDay
	Some     bool // there are more rows than were read
}

const (
	recentDays  = 7
	recentPages = 12 // a reading a minute has eleven pages in a week
	gapsAge     = time.Minute
)

// RecentGaps returns the gaps of the last days of a device, the newest first. It reads at most twelve pages, and none
// if no model names a sequence number and the reading that a pipeline folded last has none in its row key.
func (dr *DeviceRows) RecentGaps(ctx context.Context, id string) (RecentGaps, error) {
	o, err := dr.devices.owners.holder(ctx, id)
	if err != nil {
		return RecentGaps{}, err
	}
	d, err := dr.devices.device(ctx, o.member)
	means := dr.accounts.sensorsOf(o.member)
	numbered := means.Sequence != "" || slices.ContainsFunc(d.tracks, func(t tracked) bool {
		key, err := schema.ParseRowKey(t.Checkpoint)
		_, has := key.Number()
		return err == nil && has
	})
	if err != nil || !numbered {
		return RecentGaps{}, err
	}
	return dr.recent.get(ctx, ofMember(o.member)+means.Sequence, gapsAge,
		func(ctx context.Context) (RecentGaps, error) { return dr.recentGaps(ctx, o.member, means) })
}

func (dr *DeviceRows) recentGaps(ctx context.Context, m schema.Member, means *fold.Sensors) (RecentGaps, error) {
	now := time.Now().UTC()
	from := now.Truncate(24*time.Hour).AddDate(0, 0, 1-recentDays)
	ask := gapsQuestion(m, means, spanOf(from, now))
	ask.Pages = recentPages
	found := RecentGaps{Numbered: true, Sequence: means.Sequence}
	for d, err := range cut(dr.accounts.fleetOf(m.Device).Rows().Gaps(ctx, ask), &found.Some) {
		if err != nil {
			return found, err
		}
		found.Days = append(found.Days, answers.GapDayOf(d))
	}
	slices.Reverse(found.Days)
	return found, nil
}

func gapsQuestion(m schema.Member, means *fold.Sensors, span query.Span) query.Question {
	of := &query.Model{Sensors: means}
	return query.Question{Scope: query.ScopeOf(m), Span: span,
		Models: &query.Models{Of: func(schema.Member) *query.Model { return of }}}
}
