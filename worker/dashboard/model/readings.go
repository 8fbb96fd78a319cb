package model

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// A ReadingsQuery asks for the rows of a device.
type ReadingsQuery struct {
	Device   string
	From, To time.Time
	Newest   int                  `query:"newest"`  // rows, the newest first, instead of those of the span; 0: those of the span
	Sensors  []string             `query:"sensors"` // none: all; rows without any of them are left out
	Where    *condition.Condition `query:"where"`   // on the values of a row, even on those of other sensors; nil: none
	Part
}

// DeviceRows are long answers about one device: its readings, and the gaps between them.
type DeviceRows struct {
	accounts *Accounts
	devices  *Devices
	sensors  *Census
	decider  *decider
	recent   cache[RecentGaps]
}

// MaxNewest is the greatest Newest.
const MaxNewest = 1000

// Readings is the answer of /v1/devices/{id}/readings.
type Readings struct {
	Device string `json:"device"`
	Bounds
	Rows []answers.Reading `json:"rows"`
	Extent
}

// A rowPlace is a row of a device, and the span of the question. Without a row it is in front of all.
type rowPlace struct {
	query.Span
	Row string
}

// Readings returns rows that a device has written, as the pipelines understand them. Over all parts, each row of the
// span that exists throughout comes once.
func (dr *DeviceRows) Readings(ctx context.Context, q ReadingsQuery) (Export, error) {
	o, err := dr.devices.owners.holder(ctx, q.Device)
	if err != nil {
		return Export{}, err
	}
	sensors := dr.sensors.since(string(o.member.Tenant), q.From)
	if o.until == 0 {
		err = sensors.checkOwnSensors(q.Device, q.Sensors)
	}
	if err != nil {
		return Export{}, err
	}
	if err := sensors.checkWhere(string(o.member.Tenant), q.Where); err != nil {
		return Export{}, err
	}
	cursor, after := dr.accounts.cursorFor("rows", within(ctx), q.Device, q.Asked), rowPlace{Span: spanOf(q.From, q.To)}
	if err := cursor.find(q.After, &after); err != nil {
		return Export{}, err
	}
	ask := query.Question{Scope: query.ScopeOf(o.member), Span: after.Span, After: after.Row, Rows: new(atomic.Int64),
		Models: dr.accounts.models()}
	out := &Readings{Device: q.Device, Rows: []answers.Reading{}}
	if out.Limit = q.Newest; q.Newest == 0 {
		out.Bounds = boundsOf(ask.Span, q.Limit)
	}
	m := &measuring{sensors: q.Sensors, where: rowCondition{decider: dr.decider, where: q.Where}, whole: q.Newest > 0,
		rowsRead: ask.Rows, next: func(last query.Reading) string { return cursor.mark(rowPlace{ask.Span, last.Row}) }}
	return m.export(ctx, out, dr.read(ctx, o.member, q, ask)), nil
}

func (dr *DeviceRows) read(
	ctx context.Context, m schema.Member, q ReadingsQuery, ask query.Question,
) iter.Seq2[query.Reading, error] {
	a := dr.accounts.accountOf(m.Device)
	if q.Newest > 0 {
		ask.Limit = q.Newest
		return a.fleet.Rows().Tail(ctx, a.anyPipeline(), ask)
	}
	if len(q.Sensors) == 0 && q.Where == nil {
		ask.Limit = q.Limit + 1 // of a page, to see whether there is more; some rows may be none
	}
	return query.ReadingsOf(ctx, func(yield func(query.MemberQuestion, error) bool) {
		yield(query.MemberQuestion{Question: ask, Member: m, Rows: a.fleet.Rows()}, nil)
	})
}

func spanOf(from, to time.Time) query.Span {
	return query.Span{From: tables.TicksOf(from), To: tables.TicksOf(to)}
}

// measuring reads one part of an answer with rows that devices have written.
type measuring struct {
	sensors  []string // none: all
	where    rowCondition
	whole    bool // it has no other parts
	rowsRead *atomic.Int64
	next     func(last query.Reading) string // the cursor after a row
}

func (m *measuring) export(ctx context.Context, answer Whole, all iter.Seq2[query.Reading, error]) Export {
	p := paging[query.Reading, answers.Reading]{records: all, rows: m.rowsRead, next: m.next, full: m.where.over,
		row: func(r query.Reading) (answers.Reading, bool, error) { return m.row(ctx, answer.Reach(), r) }}
	if m.whole {
		p.next = nil
	}
	return p.export(answer)
}

// row returns a reading as the model understands it, and whether it is asked for.
func (m *measuring) row(ctx context.Context, out *Extent, r query.Reading) (row answers.Reading, keep bool, err error) {
	if m.whole && m.where.over() {
		return row, false, ErrSlow
	}
	reading, err := r.Read()
	if err != nil {
		out.Unreadable++
		return row, false, nil
	}
	if m.where.where != nil {
		if holds, err := m.where.holds(ctx, r.Model.Row(reading, r.Member.Labels)); !holds || err != nil {
			return row, false, err
		}
	}
	sample, _ := r.Model.Sensors.Sample(reading)
	row = answers.ReadingOf(r, wanted(sample.Values, m.sensors))
	return row, len(m.sensors) == 0 || len(row.Values) > 0, nil
}

// wanted returns the values of some sensors, or all where none are named.
func wanted(values []fold.SensorValue, sensors []string) []fold.SensorValue {
	if len(sensors) == 0 {
		return values
	}
	return slices.DeleteFunc(values, func(v fold.SensorValue) bool { return !slices.Contains(sensors, v.Sensor) })
}

// checkOwnSensors returns an error for a sensor that a device does not have. Any may exist where no newest values of
// the device are known.
func (c *Census) checkOwnSensors(id string, sensors []string) error {
	known, lacks, x := c.accounts.index.sensorsOf(id), false, c.accounts.index
	x.look(id, func(d *device) { lacks = x.lacks(d) })
	for _, sensor := range sensors {
		if len(known) > 0 && !lacks && !c.open && !slices.Contains(known, sensor) {
			return unknownSensor(sensor, known)
		}
	}
	return nil
}

// sensorsOf returns the sensors of a device, by name, without rates.
func (x *index) sensorsOf(id string) (all []string) {
	x.look(id, func(d *device) {
		for _, v := range d.values {
			if name := x.sensors.all[v.sensor]; !strings.HasSuffix(name, perHour) {
				all = append(all, name)
			}
		}
	})
	slices.Sort(all)
	return all
}
