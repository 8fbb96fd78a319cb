package refold

import (
	"context"
	"errors"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// on seals the days and drops their counts.
func (s seal) on(t *tracking.Row) {
	for _, day := range s.days {
		for _, sealed := range t.Coverage.Seal(day, s.known) {
			t.Ledger.Drop(sealed)
		}
	}
}

// sealOf returns the days of a window that are right, if they are worth sealing. No living token admitted a row of them
// when this audit began, which has counted them since, or has made them again.
func (a *auditor) sealOf(ctx context.Context, d *folding.Device, w coverage.Window, known coverage.Known) (seal,
	error) {
	w = d.Row.Reached(w)
	s := seal{d, d.Row.Covered(d.Member.Imports).Sealable(w), known}
	if !worthSealing(d, w, s.days) {
		return seal{}, nil
	}
	may, err := a.maySeal(ctx)
	if !may {
		return seal{}, err
	}
	return s, err
}

// maySeal reports whether the time is sure enough to seal days, which drops counts that nothing brings back.
func (a *auditor) maySeal(ctx context.Context) (bool, error) {
	if a.steady == nil {
		steady, err := a.Steady(ctx, a.Writer.Clock.Surely(a.now, a.task.Slot))
		if err != nil {
			return false, err
		}
		a.steady = &steady
	}
	return *a.steady, nil
}

// worthSealing reports whether there are counts to drop, or days that may never have any more: below others that are
// sealed, or up to the checkpoint of a device that is silent.
func worthSealing(d *folding.Device, w coverage.Window, days []coverage.Window) bool {
	_, sealed := d.Row.Coverage.SealedTo()
	whole := d.Row.Reached(coverage.Window{To: tables.MaxTicks})
	return slices.ContainsFunc(days, func(day coverage.Window) bool {
		return day.From < sealed || w.To == whole.To || d.Row.Ledger.Count(day.From, day.To) > 0
	})
}

// sealTogether seals the days of all devices that wait for it, in two transactions for each hundred of them. One that
// another job has changed meanwhile, or keeps, is sealed by itself, on its fresh row.
func (a *auditor) sealTogether(ctx context.Context) error {
	if len(a.seals) == 0 {
		return nil
	}
	j, work := a.newJob(), make([]*folding.Device, len(a.seals))
	for i, s := range a.seals {
		work[i] = s.d.On(s.d.Row.Clone())
		work[i].Dirty, work[i].Seen = !s.d.Row.Hold.Keeps(max(a.now, s.d.Seen)), s.d.Seen
		s.on(work[i].Row)
	}
	j.Work = folding.Changes(work)
	defer j.GiveBack(ctx)
	if err := j.Do(ctx); err != nil {
		return err
	}
	for i, s := range a.seals {
		switch work[i].Outcome() {
		case commit.Overtaken, commit.Open:
			if err := a.sealAlone(ctx, s); err != nil {
				return err
			}
		case commit.Failed, commit.Unavailable:
			s.d.Result, s.d.Row.ETag = work[i].Result, work[i].Row.ETag // the failure is counted on this version
			work[i].Claimed = false                                     // and that gives the claim back
		}
	}
	return nil
}

// sealAlone seals days of one device, or leaves them to the next audit if others keep changing it.
func (a *auditor) sealAlone(ctx context.Context, s seal) error {
	err := a.commit(ctx, s.d, s.on)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, errChanged) && !errors.Is(err, errForeign) && !errors.Is(err, errHeld):
		s.d.Unavailable(err)
	}
	return nil
}

// commit changes only a device's row. Rows that were folded meanwhile do no harm, so a busy device gets its turn.
func (a *auditor) commit(ctx context.Context, d *folding.Device, change func(*tracking.Row)) error {
	for try := range commit.Tries {
		fresh, err := a.fresh(ctx, d)
		if err != nil {
			return err
		}
		if !fresh.SameIn(coverage.Window{To: tables.MaxTicks}, d.Row, a.now) {
			return errChanged
		}
		d.Row = fresh
		if err := a.commitOnce(ctx, d, change); !errors.Is(err, errChanged) {
			return err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return errChanged
}

func (a *auditor) commitOnce(ctx context.Context, d *folding.Device, change func(*tracking.Row)) error {
	f := d.On(d.Row.Clone())
	f.Dirty, f.Seen = true, d.Seen
	change(f.Row)
	j := a.newJob()
	defer leave(ctx, j, d)
	return a.finish(ctx, j, d, f)
}
