package model

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// FleetReadings is the answer of /v1/readings: by tenant, month of deployment and device, and for each device by time.
type FleetReadings struct {
	Bounds
	Rows []answers.Reading `json:"rows"`
	Extent
}

// A holder is a device whose rows are asked for, and where it is.
type holder struct {
	located
	id string
}

// compare orders holders as their rows come, whatever account they are in.
func (h holder) compare(p readingPlace) int {
	return cmp.Or(cmp.Compare(h.Tenant, p.Tenant), h.Month.Compare(p.Month), cmp.Compare(h.id, p.Device))
}

// A readingPlace is a row among those of many devices, and the span of the question. Without a row, it is behind all of
// the device.
type readingPlace struct {
	query.Span
	schema.LatestPartition
	Device, Row string
}

// Readings returns the rows that devices have written, as the pipelines understand them. Over all parts, each row of
// the span that exists throughout comes once, of devices that are selected throughout.
func (fr *FleetRows) Readings(ctx context.Context, q FleetQuery) (Export, error) {
	var err error
	if q.Tenant, err = fr.accounts.tenantFor(ctx, q.Tenant); err != nil {
		return Export{}, err
	}
	where := q.Where
	if err := fr.sensors.since(q.Tenant, q.From).checkFilter(q.Filter, q.Sensors...); err != nil {
		return Export{}, err
	}
	q.Where = nil // it is on rows, and not on newest values
	q.labels = where != nil && where.Labels()
	w := &wideReading{reader: fr, cursor: fr.accounts.cursorFor("fleet readings", within(ctx), q.Asked),
		after: readingPlace{Span: spanOf(q.From, q.To)}}
	if err := w.cursor.find(q.After, &w.after); err != nil {
		return Export{}, err
	}
	w.ask = query.Question{Span: w.after.Span, Rows: new(atomic.Int64), Models: fr.accounts.models()}
	if len(q.Sensors) == 0 && where == nil {
		w.ask.Limit = q.Limit + 1 // of a device
	}
	homes, err := fr.selectedHomes(ctx, q, 0, true)
	if err != nil {
		return Export{}, err
	}
	w.keep(ctx, homes)
	out := &FleetReadings{Bounds: boundsOf(w.ask.Span, q.Limit), Rows: []answers.Reading{}}
	w.out = &out.Extent
	m := &measuring{sensors: q.Sensors, where: rowCondition{decider: fr.decider, where: where}, rowsRead: w.ask.Rows,
		next: func(last query.Reading) string {
			at := schema.LatestPartition{Tenant: last.Member.Tenant, Month: last.Member.Month}
			return w.text(at, string(last.Device), last.Row)
		}}
	return m.export(ctx, out, w.rows(ctx)), nil
}

// wideReading reads one part of an answer of Readings.
type wideReading struct {
	reader *FleetRows
	ask    query.Question
	cursor cursor
	after  readingPlace // where the part before has ended
	left   []holder     // what follows it, in order
	out    *Extent
}

// keep notes what is left of the devices of homes. Accounts that cannot be read are left out.
func (w *wideReading) keep(ctx context.Context, homes []home) {
	for _, h := range homes {
		if w.reader.accounts.skips(ctx, w.reader.accounts.all[h.account]) != nil {
			continue
		}
		for _, id := range h.ids {
			one := holder{h.located, id}
			if order := one.compare(w.after); order > 0 || order == 0 && w.after.Row != "" {
				w.left = append(w.left, one)
			}
		}
	}
	slices.SortFunc(w.left, func(a, b holder) int {
		return cmp.Or(a.compare(readingPlace{LatestPartition: b.LatestPartition, Device: b.id}),
			cmp.Compare(a.account, b.account))
	})
}

// devicesAtOnce is after how many devices a part can end although they have no rows.
const devicesAtOnce = 64

// rows yields the rows of the devices that are left, until the part ends behind one of them.
func (w *wideReading) rows(ctx context.Context) iter.Seq2[query.Reading, error] {
	return func(yield func(query.Reading, error) bool) {
		var last *holder
		for some := range slices.Chunk(w.left, devicesAtOnce) {
			if last != nil && w.out.Ends() {
				w.out.Next = w.text(last.LatestPartition, last.id, "")
				return
			}
			for r, err := range query.ReadingsOf(ctx, w.members(ctx, some)) {
				if !yield(r, err) {
					return
				}
			}
			last = &some[len(some)-1]
		}
	}
}

// members yields the memberships of holders, and what is asked of each.
func (w *wideReading) members(ctx context.Context, some []holder) iter.Seq2[query.MemberQuestion, error] {
	return func(yield func(query.MemberQuestion, error) bool) {
		for len(some) > 0 {
			at, ids := some[0].located, []string{}
			for len(some) > 0 && some[0].located == at {
				ids, some = append(ids, some[0].id), some[1:]
			}
			fleet := w.reader.accounts.all[at.account].fleet
			for m, err := range fleet.Devices().MembersAmong(ctx, at.LatestPartition, ids) {
				ask := w.ask
				if err == nil && w.after.Row != "" && (holder{at, string(m.Device)}).compare(w.after) == 0 {
					ask.After = w.after.Row
				}
				if !yield(query.MemberQuestion{Question: ask, Member: m, Rows: fleet.Rows()}, err) {
					return
				}
			}
		}
	}
}

// text returns the cursor behind a row; behind all of a device without one.
func (w *wideReading) text(at schema.LatestPartition, device, row string) string {
	return w.cursor.mark(readingPlace{w.ask.Span, at, device, row})
}
