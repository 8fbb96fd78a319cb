package retain

import (
	"cmp"
	"context"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Run deletes what is no longer kept of devices, one after the other, and returns what was done with each. Repeated, or
// continued after any part of it, it does what is left. Ages go by the time that is sure.
func (p *Retainer) Run(ctx context.Context, work []*commit.Device, now, sure tables.Ticks) (map[*commit.Device]Done,
	error) {
	all := make([]*retained, 0, len(work))
	for _, d := range work {
		if d.Err == nil {
			all = append(all, p.retained(d, sure))
		}
	}
	if err := p.run(ctx, all, now, sure); err != nil {
		return nil, err
	}
	done := map[*commit.Device]Done{}
	for _, d := range all {
		done[d.Device] = d.done
	}
	return done, nil
}

func (p *Retainer) run(ctx context.Context, all []*retained, now, sure tables.Ticks) error {
	if err := p.decide(ctx, all, now, sure); err != nil {
		return err
	}
	if err := p.raise(ctx, all); err != nil {
		return err
	}
	for _, d := range all {
		d.done.Later, d.done.Waits = d.busy || d.Outcome() == commit.Overtaken, d.wait.Cause
		d.note()
	}
	if err := p.retainOutputs(ctx, all, sure); err != nil {
		return err
	}
	if err := p.retainOwn(ctx, all, sure); err != nil {
		return err
	}
	left := p.Most
	for _, d := range all {
		if d.lost() || d.to == 0 || left <= 0 {
			if d.to != 0 && left <= 0 {
				d.Behind, d.Dirty = true, true
			}
			continue
		}
		if p.GiveWay != nil {
			p.GiveWay(ctx)
		}
		if err := p.forgetRows(ctx, d, min(left, p.Portion)); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			d.Unavailable(err)
			continue
		}
		left -= d.done.Rows
		d.ClearMarks()
		d.Dirty = true
	}
	return nil
}

// retained returns what the configuration says of a device.
func (p *Retainer) retained(d *commit.Device, now tables.Ticks) *retained {
	r := &retained{Device: d, model: p.ModelOf(d.Member), from: d.Row.Last}
	r.keep = p.Of(d.Member, r.model.Name)
	r.cut = p.cut(r.keep, d.Member, now)
	r.to = r.cut
	if r.to == 0 {
		return r
	}
	if settings := r.keep.settings(r.model); d.Row.Settings != settings { // it begins again, even if all rows wait now
		d.Row.Settings, d.Row.Last, r.from = settings, "", ""
	}
	if tables.TicksBefore(r.from) > now { // a clock was ahead
		d.Row.Last, r.from = "", ""
	}
	if tables.TicksBefore(r.from)+1 >= r.to && r.from != "" {
		r.to = 0 // it is done
	}
	return r
}

// decide lowers how far rows of devices may go to what nobody needs.
func (p *Retainer) decide(ctx context.Context, all []*retained, now, sure tables.Ticks) error {
	all = slices.DeleteFunc(slices.Clone(all), func(d *retained) bool { return d.to == 0 })
	if len(all) == 0 {
		return nil
	}
	for _, o := range p.Others {
		if err := p.readOther(ctx, o, all); err != nil {
			return err
		}
	}
	for _, d := range all {
		for i, o := range p.Others {
			d.keepNeeded(o, d.rows[i], now)
		}
		if err := p.unfolded(ctx, d, now); err != nil {
			return err
		}
		for i, o := range p.Others {
			d.unsealed(o, d.rows[i], coverage.Known{At: sure, Late: p.Late(d.Member)})
		}
	}
	if err := p.moved(ctx, all); err != nil {
		return err
	}
	return p.archived(ctx, all, sure)
}

// readOther reads the rows that another pipeline has of devices.
func (p *Retainer) readOther(ctx context.Context, o Folding, all []*retained) error {
	found := map[string]tables.Entity{}
	part := schema.Between(all[0].Member.Place(), all[len(all)-1].Member.Place())
	for e, err := range o.Tracking.Entities(ctx, tables.Query{Range: part}) {
		if err != nil {
			return err
		}
		found[e.PartitionKey+schema.Separator+e.RowKey] = e
	}
	for _, d := range all {
		t := tracking.New()
		if e, is := found[d.Member.Month.String()+schema.Separator+string(d.Member.Key())]; is {
			var err error
			if t, err = tracking.RowOf(e); err != nil {
				d.stay(0, CauseUnreadable, "pipeline "+string(o.Name)+": its tracking row cannot be read")
				t = nil
			}
		}
		d.rows = append(d.rows, t)
	}
	return nil
}

// keepNeeded keeps what a pipeline still needs.
func (d *retained) keepNeeded(o Folding, t *tracking.Row, now tables.Ticks) {
	if t == nil {
		return
	}
	stay := func(from tables.Ticks, cause Cause, reason string) {
		d.stay(from, cause, "pipeline "+string(o.Name)+" "+reason)
	}
	if t.Hold.Keeps(now) {
		d.busy = true
		stay(0, CauseBusy, "has a job at work on it")
	}
	m := o.ModelOf(d.Member)
	if t.Last != "" && t.Settings != m.Settings {
		stay(t.Coverage.Watermark, CauseRefold, "has to fold it again with other settings")
	}
	if at, moved := t.Spans.Differ(d.Member.Spans); moved && t.Last != "" {
		stay(at, CauseMove, "has to fold it again after a move")
	}
	for _, i := range d.Member.Imports {
		if i.ID > t.Imported {
			stay(i.From, CauseImport, "has an import to fold")
		}
	}
	for _, processor := range m.Processors {
		w, is := processor.Windowed()
		state := t.States[processor.Name]
		if !is || len(state) == 0 {
			continue
		}
		open, err := w.OpenFrom(state)
		switch {
		case err != nil:
			stay(0, CauseUnreadable, "has a state that cannot be read")
		case open != 0 && (processor.Marks || t.Spans.End() == 0 && tables.TicksBefore(t.Last) >= d.to):
			stay(open, CauseWindow, "has not closed its windows")
		}
	}
}

// unfolded keeps the rows that a pipeline has not folded.
func (p *Retainer) unfolded(ctx context.Context, d *retained, now tables.Ticks) error {
	keys, who, by := tables.Keys{From: d.to.String()}, Folding{}, (*tracking.Row)(nil)
	for i, o := range p.Others {
		if t := d.rows[i]; t != nil {
			if unread := t.Unread(); begins(unread, keys) < 0 {
				keys, who, by = unread, o, t
			}
		}
	}
	if by == nil || d.to == 0 {
		return nil
	}
	if looked := (tables.Keys{After: d.from}); begins(looked, keys) > 0 {
		keys = looked
	}
	keys.Before = d.to.String()
	row, err := FirstRow(ctx, p.Client, d.Member, keys)
	if err == nil && row != "" {
		cause, reason := unfolded(by, now)
		d.stay(tables.TicksBefore(row), cause, "pipeline "+string(who.Name)+" "+reason)
	}
	return err
}

// begins compares where two ranges begin. One from a row on begins before one after it.
func begins(a, b tables.Keys) int {
	return cmp.Or(cmp.Compare(max(a.From, a.After), max(b.From, b.After)), cmp.Compare(a.After, b.After))
}

// unsealed keeps the days below the checkpoint of a pipeline that are not both right and sealed. By what is known now,
// rows may still come to them, or they are to be made again.
func (d *retained) unsealed(o Folding, t *tracking.Row, known coverage.Known) {
	if t == nil || t.Last == "" {
		return
	}
	c, passed := t.Coverage, tables.TicksBefore(t.Last).Floor(tables.Day)+tables.Day
	c.Admit(known)
	open, is := c.Open(passed)
	if spans := t.Ledger.Spans(); len(spans) > 0 && spans[0][0] < open { // rows that a live job has folded after all
		open, is = spans[0][0], coverage.Part{}
	}
	switch {
	case open >= passed:
	case is.Why&coverage.Import != 0:
		d.stay(open, CauseImport, "pipeline "+string(o.Name)+" has an import to fold")
	case is.Stale():
		d.stay(open, CauseRefold, "pipeline "+string(o.Name)+" folds it again")
	default:
		d.stay(open, CauseAudit, "pipeline "+string(o.Name)+" still looks for late rows")
	}
}

// unfolded says why rows of a device may not be folded.
func unfolded(t *tracking.Row, now tables.Ticks) (Cause, string) {
	switch {
	case t.HeldAt(now):
		return CauseHeld, "holds it: " + t.Held
	case t.Last == "":
		return CauseBehind, "has not begun with it"
	}
	return CauseBehind, "has not folded it"
}
