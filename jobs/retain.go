package jobs

import (
	"context"
	"errors"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// retainAll deletes what is no longer kept of devices, one after the other, and returns how many it looked at.
// Repeated, or continued after any part of it, it does what is left. Ages go by the time that is sure.
func (p *Pipeline) retainAll(
	ctx context.Context, work []*deviceRun, now, sure tables.Ticks,
) (looked int, err error) {
	all := make([]*retained, 0, len(work))
	for _, d := range work {
		if d.Err == nil {
			all = append(all, p.retained(d, sure))
		}
	}
	if err := p.decide(ctx, all, now, sure); err != nil {
		return 0, err
	}
	if err := p.raise(ctx, all); err != nil {
		return 0, err
	}
	for _, d := range all {
		d.later, d.waits = d.busy || d.Outcome() == commit.Overtaken, d.wait.Cause
		d.note()
	}
	if err := p.retainOutputs(ctx, all, sure); err != nil {
		return 0, err
	}
	if err := p.retainOwn(ctx, all, sure); err != nil {
		return 0, err
	}
	left := p.most()
	for _, d := range all {
		if d.lost() || d.to == 0 || left <= 0 {
			if d.to != 0 && left <= 0 {
				d.Behind, d.Dirty = true, true
			}
			continue
		}
		if p.Retention.GiveWay != nil {
			p.Retention.GiveWay(ctx)
		}
		if err := p.forgetRows(ctx, d, min(left, p.portion())); err != nil {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			d.Unavailable(err)
			continue
		}
		left -= d.deviceRun.rows
		d.mark()
		d.Dirty = true
	}
	return len(work), nil
}

// retained returns what the configuration says of a device.
func (p *Pipeline) retained(d *deviceRun, now tables.Ticks) *retained {
	r := &retained{deviceRun: d, keep: p.Retention.Of(d.Member, d.model.Name), from: d.Row.Last}
	r.cut = p.cut(r.keep, d.Member, now)
	r.to = r.cut
	if r.to == 0 {
		return r
	}
	if settings := r.keep.settings(d.model); d.Row.Settings != settings { // it begins again, even if all rows wait now
		d.Row.Settings, d.Row.Last, r.from = settings, "", ""
	}
	if tables.TicksBefore(r.from)+1 >= r.to && r.from != "" {
		r.to = 0 // it is done
	}
	return r
}

// decide lowers how far rows of devices may go to what nobody needs.
func (p *Pipeline) decide(ctx context.Context, all []*retained, now, sure tables.Ticks) error {
	all = slices.DeleteFunc(slices.Clone(all), func(d *retained) bool { return d.to == 0 })
	if len(all) == 0 {
		return nil
	}
	for _, o := range p.Retention.Others {
		if err := p.readOther(ctx, o, all); err != nil {
			return err
		}
	}
	for _, d := range all {
		for i, o := range p.Retention.Others {
			d.heed(o, d.rows[i], now)
		}
		if err := p.unfolded(ctx, d, now); err != nil {
			return err
		}
		if err := p.uncounted(ctx, d); err != nil {
			return err
		}
	}
	if err := p.moved(ctx, all); err != nil {
		return err
	}
	return p.archived(ctx, all, sure)
}

// readOther reads the rows that another pipeline has of devices.
func (p *Pipeline) readOther(ctx context.Context, o *Pipeline, all []*retained) error {
	found := map[string]tables.Entity{}
	part := schema.Between(all[0].Member.Place(), all[len(all)-1].Member.Place())
	for page, err := range o.tracking().Rows(ctx, tables.Query{Range: part}) {
		if errors.Is(err, tables.ErrNoTable) {
			break // the pipeline is new
		}
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			found[e.PartitionKey+schema.Separator+e.RowKey] = e
		}
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

// stay has rows from a moment on stay, for a reason.
func (d *retained) stay(from tables.Ticks, cause Cause, reason string) {
	if from = from.Floor(tables.Day); from < d.to {
		d.to, d.wait = from, Wait{from, cause, reason}
	}
}

// heed keeps what a pipeline still needs.
func (d *retained) heed(o *Pipeline, t *tracking.Row, now tables.Ticks) {
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
	m := o.modelOf(d.Member)
	if t.Last != "" && t.Settings != m.Settings {
		stay(t.Watermark, CauseRefold, "has to fold it again with other settings")
	}
	if at, moved := t.Spans.Differ(d.Member.Spans); moved && t.Last != "" {
		stay(at, CauseMove, "has to fold it again after a move")
	}
	if !t.Refold.Empty() {
		stay(t.Refold.From, CauseRefold, "folds it again")
	}
	if !t.Gap.Empty() {
		stay(t.Gap.From, CauseRefold, "folds it again")
	}
	if !t.Importing.Empty() {
		stay(t.Importing.From, CauseImport, "has an import to fold")
	}
	for _, i := range d.Member.Imports {
		if i.ID > t.Imported {
			stay(i.From, CauseImport, "has an import to fold")
		}
	}
	if spans := t.Ledger.Spans(); len(spans) > 0 {
		stay(spans[0][0], CauseAudit, "still looks for late rows")
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
		case open != 0 && (processor.Raw || tables.TicksBefore(t.Last) >= d.to):
			stay(open, CauseWindow, "has not closed its windows")
		}
	}
}

// unfolded keeps the rows that a pipeline has not folded.
func (p *Pipeline) unfolded(ctx context.Context, d *retained, now tables.Ticks) error {
	after, who, by := d.to.String(), (*Pipeline)(nil), (*tracking.Row)(nil)
	for i, o := range p.Retention.Others {
		if t := d.rows[i]; t != nil {
			if passed := max(t.Last, t.Watermark.String()); passed < after {
				after, who, by = passed, o, t
			}
		}
	}
	if who == nil || d.to == 0 {
		return nil
	}
	if d.from > after {
		after = d.from
	}
	row, err := p.firstRow(ctx, d.Member, tables.Keys{After: after, Before: d.to.String()})
	if err == nil && row != "" {
		cause, reason := unfolded(by, now)
		d.stay(tables.TicksBefore(row), cause, "pipeline "+string(who.Name)+" "+reason)
	}
	return err
}

// uncounted keeps rows that came late and that no audit has found yet. A pipeline has counted the rows below the floor
// of its ledger when nothing could come any more. From there on the ledger has each day with rows that it knows, so one
// without, where there are rows, still has its last audit before it:
//
//	floor          d.to            first span of the ledger
//	  |  a late row  |               |
//	  ... silent days ...............| days with rows
func (p *Pipeline) uncounted(ctx context.Context, d *retained) error {
	for i, o := range p.Retention.Others {
		t := d.rows[i]
		if t == nil || t.Last == "" || t.Floor >= d.to {
			continue
		}
		keys := tables.Keys{From: t.Floor.String(), Before: d.to.String()}
		if t.Floor == 0 {
			keys.From = "" // malformed row keys may lie below all ticks
		}
		if d.from != "" && d.from >= keys.From {
			keys.From, keys.After = "", d.from
		}
		row, err := p.firstRow(ctx, d.Member, keys)
		if err != nil {
			return err
		}
		if row != "" {
			d.stay(tables.TicksBefore(row), CauseAudit, "pipeline "+string(o.Name)+" still looks for late rows")
		}
	}
	return nil
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

// firstRow returns the key of the first row of a membership in a range, or "".
func (p *Pipeline) firstRow(ctx context.Context, m schema.Member, keys tables.Keys) (string, error) {
	return p.findRow(ctx, m, keys, 1, func(string) bool { return true })
}

// firstReading returns the key of the first row of a membership in a range that is a reading, or "". The keys of others
// have no time, and they are in nothing but rejects.
func (p *Pipeline) firstReading(ctx context.Context, m schema.Member, keys tables.Keys) (string, error) {
	return p.findRow(ctx, m, keys, 1000, func(key string) bool {
		_, err := schema.ParseRowKey(key)
		return err == nil
	})
}

// findRow returns the first wanted key in a range of a membership's rows, or "". It reads them in pages of a size.
func (p *Pipeline) findRow(ctx context.Context, m schema.Member, keys tables.Keys, size int,
	wanted func(key string) bool) (string, error) {
	q := tables.Query{Size: size, Select: []string{"RowKey"}, Range: tables.Partition(string(m.Device))}
	for _, q.Range.Rows = range m.Spans.Within(keys) {
		for page, err := range p.Client.Table(m.Readings).Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return "", nil
			}
			if err != nil {
				return "", err
			}
			for i := range page.Rows {
				if wanted(page.Rows[i].RowKey) {
					return page.Rows[i].RowKey, nil
				}
			}
		}
	}
	return "", nil
}
