package model

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A runLog knows from the figures of the last runs how much was folded, and in which months.
type runLog struct {
	store  *Store
	folded map[workerRow]int64 // rows, by run and worker
	months map[monthOf]*month
	dirty  map[schema.Month]bool // something was folded there since take was last called
	any    bool                  // something was folded anywhere since then
}

type workerRow struct {
	pipeline schema.Pipeline
	slot     tables.Ticks
	row      string
}

type monthOf struct {
	pipeline schema.Pipeline
	month    schema.Month
}

// A month is what is known of a month of one pipeline.
type month struct {
	slot    tables.Ticks
	figures schema.MonthFigures
	active  bool      // something was folded between the last two runs
	held    time.Time // when held devices were last read
	devices int64     // in the figures when new devices were last read
}

func newRunLog(s *Store) *runLog {
	return &runLog{store: s, folded: map[workerRow]int64{}, months: map[monthOf]*month{}, dirty: map[schema.Month]bool{}}
}

// slotsBack is how many slots of a pipeline a poll reads.
const slotsBack = 3

// read takes one query for each pipeline, which mostly returns one page.
func (l *runLog) read(ctx context.Context) error {
	folded := map[workerRow]int64{}
	for _, p := range l.store.configured() {
		since := tables.TicksOf(time.Now().Add(-slotsBack*p.Cadence - time.Minute))
		q := tables.Query{Range: tables.Range{Partitions: schema.FiguresSince(p.Name, since)}}
		for e, err := range l.store.rows(ctx, l.store.c.Names.Runs(), q, allPages) {
			if err != nil {
				return err
			}
			l.row(p, e, folded)
		}
	}
	l.folded = folded
	return nil
}

// row takes a row of figures. One that cannot be read only makes a change appear later.
func (l *runLog) row(p Pipeline, e tables.Entity, folded map[workerRow]int64) {
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
		key, n := workerRow{p.Name, w.Slot, e.RowKey}, w.Rows+w.Late+w.Refolded
		folded[key] = n
		l.any = l.any || n > l.folded[key]
	}
}

func (l *runLog) month(p Pipeline, f schema.MonthFigures) {
	key := monthOf{p.Name, f.Month}
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

// take returns what was folded since the last call: whether anything was, and the months that surely changed.
func (l *runLog) take() (any bool, months map[schema.Month]bool) {
	any, months = l.any, l.dirty
	l.any, l.dirty = false, map[schema.Month]bool{}
	return any, months
}

// active reports whether something was folded in a month lately.
func (l *runLog) active(of schema.Month) bool {
	for key, m := range l.months {
		if key.month == of && m.active {
			return true
		}
	}
	return false
}

// newDevices reads the members of months that have more devices than the index.
func (p *poller) newDevices(ctx context.Context) error {
	for key, m := range p.runs.months {
		n, ready := p.store.index.count(key.month)
		if !ready || m.figures.Devices <= n || m.figures.Devices == m.devices {
			continue
		}
		var added []schema.Member
		q := tables.Query{Range: tables.Partition(key.month.String()), Select: []string{"PartitionKey", "RowKey", "Readings",
			schema.FormatProperty}}
		for e, err := range p.store.rows(ctx, p.store.c.Names.Fleet(), q, allPages) {
			if err != nil {
				return err
			}
			if member, err := schema.MemberOf(e); err == nil && !p.store.index.has(string(member.Device)) {
				added = append(added, member)
			}
		}
		if err := p.store.addRecords(ctx, added); err != nil {
			return err
		}
		m.devices = m.figures.Devices
	}
	return nil
}

// heldInterval is how often held devices are read, of the months that have any.
const heldInterval = 30 * time.Second

func (p *poller) held(ctx context.Context) error {
	for _, pipeline := range p.store.configured() {
		shown := p.store.index.holdMonths(pipeline.Name)
		for key, m := range p.runs.months {
			has := m.figures.Held+m.figures.Failing > 0
			if key.pipeline != pipeline.Name || !has && !shown[key.month] || time.Since(m.held) < heldInterval {
				continue
			}
			all, err := p.heldIn(ctx, pipeline.Name, key.month)
			if err != nil {
				return err
			}
			m.held = time.Now()
			p.store.index.held(pipeline.Name, key.month, all)
		}
	}
	return nil
}

// heldIn returns the failing devices of a month. Storage scans the whole month, but sends only these.
func (p *poller) heldIn(ctx context.Context, of schema.Pipeline, in schema.Month) (all []schema.Track, err error) {
	q := tables.Query{Range: tables.Partition(in.String()), Filter: schema.TracksFailing(),
		Select: schema.TrackProperties()}
	for e, err := range p.store.rows(ctx, p.store.c.Names.Partitions(of), q, allPages) {
		if err != nil {
			return nil, err
		}
		if h, err := schema.TrackOf(e); err == nil && h.Failing() {
			all = append(all, h)
		}
	}
	return all, nil
}

// status reads the changes of devices' status that are in progress. A change stays in the policies for at
// least a minute, so a poller that runs misses none; older changes are in the records.
func (p *poller) status(ctx context.Context) error {
	if time.Since(p.statuses) < statusInterval {
		return nil
	}
	for e, err := range p.store.rows(ctx, p.store.c.Names.Policies(), tables.Query{Size: 100}, allPages) {
		if err != nil {
			return err
		}
		if policies, err := schema.PoliciesOf(e); err == nil {
			for _, c := range policies.Changes {
				p.store.index.status(c.Device, c.To)
			}
		}
	}
	p.statuses = time.Now()
	return nil
}
