package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A runLog knows from the figures of the last runs how much was folded, and in which months.
type runLog struct {
	account *account
	folded  map[runKey]int64 // rows
	months  map[monthOf]*month
	dirty   map[schema.Month]bool // something was folded there since newlyFolded was last called
	any     bool                  // something was folded anywhere since then
}

type runKey struct {
	pipeline schema.Pipeline
	slot     tables.Ticks
}

type monthOf struct {
	pipeline schema.Pipeline
	month    monthIn
}

// A month is what is known of a month of one pipeline.
type month struct {
	slot    tables.Ticks
	figures schema.MonthFigures
	active  bool      // something was folded between the last two runs
	held    time.Time // when held devices were last read
	devices int64     // in the figures when new devices were last read
}

func newRunLog(a *account) *runLog {
	return &runLog{account: a, folded: map[runKey]int64{}, months: map[monthOf]*month{}, dirty: map[schema.Month]bool{}}
}

// slotsBack is how many slots of a pipeline a poll reads.
const slotsBack = 3

// read takes one query for each pipeline, which mostly returns one page. Figures that cannot be read only
// make a change appear later.
func (l *runLog) read(ctx context.Context) error {
	folded := map[runKey]int64{}
	for _, p := range l.account.configured() {
		since := tables.TicksOf(time.Now().Add(-slotsBack*p.Cadence - time.Minute))
		runs, err := l.account.fleet.Progress().Figures(ctx, p.Name, since)
		if err != nil {
			return err
		}
		if p.Writes(latest.Table) {
			pace := &l.account.poller.pace
			pace.Store(paceOf(p, runs, pace.Load()))
		}
		for _, r := range runs {
			for _, m := range r.ByMonth {
				l.month(p, m)
			}
			key, n := runKey{p.Name, r.Run.Slot}, r.Workers.Rows+r.Workers.Late+r.Workers.Refolded
			folded[key] = n
			l.any = l.any || p.Writes(latest.Table) && n > l.folded[key]
		}
	}
	l.folded = folded
	return nil
}

func (l *runLog) month(p Pipeline, f schema.MonthFigures) {
	key := monthOf{p.Name, monthIn{l.account.number, f.Month}}
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
	m.active = p.Writes(latest.Table) && (f.Rows != was.Rows || f.Late != was.Late || f.Refolds != was.Refolds)
	m.slot, m.figures = f.Slot, f
	if m.active {
		l.dirty[f.Month] = true
	}
}

// newlyFolded returns what was folded since the last call: whether anything was, and the months that surely changed.
func (l *runLog) newlyFolded() (any bool, months map[schema.Month]bool) {
	any, months = l.any, l.dirty
	l.any, l.dirty = false, map[schema.Month]bool{}
	return any, months
}

// active reports whether something was folded in a month lately.
func (l *runLog) active(of schema.Month) bool {
	for key, m := range l.months {
		if key.month.Month == of && m.active {
			return true
		}
	}
	return false
}

// newDevices reads the members of months that have more devices than the index.
func (p *poller) newDevices(ctx context.Context) error {
	for key, m := range p.runs.months {
		n := p.accounts.index.count(key.month)
		if m.figures.Devices <= n {
			m.devices = 0 // some may have left, and as many come later
		}
		if m.figures.Devices <= n || m.figures.Devices == m.devices {
			continue
		}
		all, err := query.Collect(p.account.fleet.Devices().MembersOf(ctx, key.month.Month), new(query.Skipped))
		if err != nil {
			return err
		}
		added := slices.DeleteFunc(all, func(m schema.Member) bool {
			return p.accounts.index.lists(string(m.Device))
		})
		if err := p.addRecords(ctx, added); err != nil {
			return err
		}
		m.devices = m.figures.Devices
	}
	return nil
}

// heldInterval is how often held devices are read, of the months that have any.
const heldInterval = 30 * time.Second

func (p *poller) held(ctx context.Context) error {
	for of, m := range p.runs.months {
		has := m.figures.Held+m.figures.Failing > 0
		if !has && !p.accounts.index.anyHeld(of) || time.Since(m.held) < heldInterval {
			continue
		}
		failing := p.account.fleet.Progress().Failing(ctx, of.pipeline, of.month.Month, query.DeviceSelector{})
		all, err := query.Collect(failing, new(query.Skipped))
		if err != nil {
			return err
		}
		m.held = time.Now()
		p.accounts.index.held(of, all)
	}
	return nil
}

// status reads the changes of devices' status that are in progress. A change stays in the policies for at
// least a minute, so a poller that runs misses none; older changes are in the records.
func (p *poller) status(ctx context.Context) error {
	if time.Since(p.statuses) < statusInterval {
		return nil
	}
	if err := p.intervals(ctx); err != nil {
		return err
	}
	changes, err := query.Collect(p.account.fleet.Devices().StatusChanges(ctx), new(query.Skipped))
	if err != nil {
		return err
	}
	for _, c := range changes {
		p.accounts.index.status(p.account.number, c.Device, c.To)
	}
	p.statuses = time.Now()
	return nil
}

// intervals reads what enrollments state, and the records of all devices again where that has changed.
func (p *poller) intervals(ctx context.Context) error {
	if p.account.Stated == nil {
		return nil
	}
	is, err := p.account.Stated(ctx)
	if err != nil {
		p.accounts.log.WarnContext(ctx, "enrollments unavailable; intervals are those read before", "error", err)
		return nil
	}
	if was := p.account.stated.Swap(&is); was == nil && len(is) == 0 || was != nil && maps.Equal(*was, is) {
		return nil
	}
	return p.allRecords(ctx)
}
