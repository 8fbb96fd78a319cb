package model

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A figuresLog is what the figures of the last runs say of the pipelines: how much
// was folded, and in which months.
type figuresLog struct {
	store  *Store
	folded map[work]int64 // rows, by run and worker
	months map[ofMonth]*month
	dirty  map[schema.Month]bool // something was folded in them since it was last asked
	any    bool                  // something was folded somewhere
}

type work struct {
	pipeline schema.Pipeline
	slot     tables.Ticks
	row      string
}

type ofMonth struct {
	pipeline schema.Pipeline
	month    schema.Month
}

// A month is what a pipeline has seen of one.
type month struct {
	slot    tables.Ticks
	figures schema.MonthFigures
	active  bool // something was folded between the last two runs
	held    time.Time
	devices int64 // when new ones were last looked for
}

func newFiguresLog(s *Store) *figuresLog {
	return &figuresLog{store: s, folded: map[work]int64{}, months: map[ofMonth]*month{}, dirty: map[schema.Month]bool{}}
}

// slotsBack is how many slots of a pipeline a round looks at.
const slotsBack = 3

// read takes one query for each pipeline, which mostly gives one page.
func (l *figuresLog) read(ctx context.Context) error {
	table := l.store.table(l.store.c.Names.Runs())
	folded := map[work]int64{}
	for _, p := range l.store.configured() {
		since := tables.TicksOf(time.Now().Add(-slotsBack*p.Cadence - time.Minute))
		q := tables.Query{Range: tables.Range{Partitions: schema.FiguresSince(p.Name, since)}}
		for page, err := range table.Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				break
			}
			if err != nil {
				return err
			}
			for _, e := range page.Rows {
				l.row(p, e, folded)
			}
		}
	}
	l.folded = folded
	return nil
}

// row takes in a row of figures. One that cannot be read is another version's.
func (l *figuresLog) row(p Pipeline, e tables.Entity, folded map[work]int64) {
	switch {
	case schema.IsMonthFigures(e):
		if m, err := schema.MonthFiguresOf(e); err == nil {
			l.month(p, m)
		}
	case schema.IsWorkerFigures(e) && p.Latest:
		w, err := schema.WorkerFiguresOf(e)
		if err != nil {
			return
		}
		key, n := work{p.Name, w.Slot, e.RowKey}, w.Rows+w.Late+w.Refolded
		folded[key] = n
		if n > l.folded[key] {
			l.any = true
		}
	}
}

func (l *figuresLog) month(p Pipeline, f schema.MonthFigures) {
	key := ofMonth{p.Name, f.Month}
	m := l.months[key]
	if m == nil {
		l.months[key] = &month{slot: f.Slot, figures: f, active: true}
		l.dirty[f.Month] = true
		return
	}
	if f.Slot <= m.slot {
		return
	}
	was := m.figures
	m.active = p.Latest && (f.Rows != was.Rows || f.Late != was.Late || f.Refolds != was.Refolds)
	m.slot, m.figures = f.Slot, f
	if m.active {
		l.dirty[f.Month] = true
	}
}

// take is what has been folded since it was last called: anything at all, and in
// which months for certain.
func (l *figuresLog) take() (any bool, months map[schema.Month]bool) {
	any, months = l.any, l.dirty
	l.any, l.dirty = false, map[schema.Month]bool{}
	return any, months
}

// active tells whether something was folded in a month lately.
func (l *figuresLog) active(of schema.Month) bool {
	for key, m := range l.months {
		if key.month == of && m.active {
			return true
		}
	}
	return false
}

// newDevices reads the members of the months that have more than the index knows.
func (r *rounds) newDevices(ctx context.Context) error {
	for key, m := range r.log.months {
		n, ready := r.store.index.count(key.month)
		if !ready || m.figures.Devices <= n || m.figures.Devices == m.devices {
			continue
		}
		var new []schema.Member
		q := tables.Query{Range: tables.Partition(key.month.String()), Select: []string{"PartitionKey", "RowKey", "Readings", schema.FormatProperty}}
		for page, err := range r.store.table(r.store.c.Names.Fleet()).Rows(ctx, q) {
			if err != nil {
				return err
			}
			for _, e := range page.Rows {
				if member, err := schema.MemberOf(e); err == nil && !r.store.index.has(string(member.Device)) {
					new = append(new, member)
				}
			}
		}
		if err := r.store.addRecords(ctx, new); err != nil {
			return err
		}
		m.devices = m.figures.Devices
	}
	return nil
}

// count is how many devices of a month are known, and whether all records were read.
func (x *index) count(m schema.Month) (n int64, ready bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, ok := x.months[m]; ok {
		n = int64(x.members[i])
	}
	return n, x.ready
}

func (x *index) has(device string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.at[device]
	return ok
}

// heldEvery is how often the devices that are held are read, of the months that
// have any.
const heldEvery = 30 * time.Second

func (r *rounds) held(ctx context.Context) error {
	for _, p := range r.store.configured() {
		shown := r.store.index.holdMonths(p.Name)
		for key, m := range r.log.months {
			has := m.figures.Held+m.figures.Failing > 0
			if key.pipeline != p.Name || !has && !shown[key.month] || time.Since(m.held) < heldEvery {
				continue
			}
			all, err := r.heldIn(ctx, p.Name, key.month)
			if err != nil {
				return err
			}
			m.held = time.Now()
			r.store.index.held(p.Name, key.month, all)
		}
	}
	return nil
}

// heldIn are the devices of a month that fail. Storage looks at all rows of the
// month, and sends those.
func (r *rounds) heldIn(ctx context.Context, p schema.Pipeline, in schema.Month) (all []schema.Track, err error) {
	q := tables.Query{Range: tables.Partition(in.String()), Filter: schema.TracksFailing(), Select: schema.TrackProperties()}
	for page, err := range r.store.table(r.store.c.Names.Partitions(p)).Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			if h, err := schema.TrackOf(e); err == nil && h.Failing() {
				all = append(all, h)
			}
		}
	}
	return all, nil
}

// status reads the changes of devices' status that are under way. One stays in the
// policies for a minute at least, so that none is missed while somebody watches;
// before, the records tell.
func (r *rounds) status(ctx context.Context) error {
	if time.Since(r.statuses) < statusesEvery {
		return nil
	}
	for page, err := range r.store.table(r.store.c.Names.Policies()).Rows(ctx, tables.Query{Size: 100}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			if p, err := schema.PoliciesOf(e); err == nil {
				for _, c := range p.Changes {
					r.store.index.status(c.Device, c.To)
				}
			}
		}
	}
	r.statuses = time.Now()
	return nil
}
