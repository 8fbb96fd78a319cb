package jobs

import (
	"context"
	"fmt"

	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
)

// refolder returns what audits the pipeline's devices and folds them again.
func (j job) refolder() *refold.Refolder {
	return &refold.Refolder{Writer: j.writer(), Outbox: j.outbox(), Late: j.late, Steady: j.ranBefore,
		Every: j.looks, Rests: j.rests(), Portion: j.portion(), Most: j.most()}
}

// audit does an audit job. It commits what it folds again device by device and portion by portion. Repeated, it finds
// what is left.
func (j job) audit(ctx context.Context) (Result, error) {
	read, err := j.read(ctx, Batch{First: j.m.First, Last: j.m.Last})
	if err != nil {
		return Result{}, fmt.Errorf("audit of %s to %s: %w", j.m.First, j.m.Last, err)
	}
	t := refold.Task{Depth: j.m.Audit, Slot: j.m.Run, Since: j.m.Since, Mark: j.m.Mark, Tried: j.m.tried()}
	done, err := j.refolder().Do(ctx, t, read.work, read.now)
	if err != nil {
		return Result{}, fmt.Errorf("audit of %s to %s: %w", j.m.First, j.m.Last, err)
	}
	// Devices that are held are counted by the follow-up.
	r := Result{Devices: len(read.work) - len(done.Held), Overtaken: done.Overtaken, Late: done.Late,
		Refolds: done.Refolds, Missing: done.Missing, Failed: done.Failed, Strange: read.strange}
	for _, d := range done.Held {
		r.Claimed = append(r.Claimed, claimed{d.Member.Place(), d.Row.Hold.Claim, d.Row.Hold.Until})
	}
	j.m = j.m.Untried()
	for _, f := range followUps(j.m, r.Claimed, read.now) {
		f.Claim = "" // a later claim does not do the work of an audit
		if err := j.Put(ctx, f.Message, f.delay); err != nil {
			return r, err
		}
	}
	for _, u := range done.Unheard {
		look := j.m.next(Device)
		look.Extra, look.First, look.Last = true, u.Member.Place(), u.Member.Place()
		if err := j.Put(ctx, look, 0); err != nil {
			return r, err
		}
	}
	if err := j.noteUnheard(ctx, done.Unheard); err != nil {
		return r, err
	}
	j.m.Audit, j.m.Since = refold.Refold, 0
	for _, u := range done.Unended {
		j.m.First, j.m.Last, j.m.Mark = u.Device, u.Device, u.Mark
		if err := j.Put(ctx, j.m, u.Delay); err != nil {
			return r, err
		}
	}
	return r, nil
}

// noteUnheard notes the enrollments of devices that have rows without having had a token.
func (j job) noteUnheard(ctx context.Context, all []refold.Unheard) error {
	notes := map[schema.EnrollmentID]schema.Unheard{}
	for _, u := range all {
		if !u.Asleep {
			continue
		}
		note, noted := notes[u.Member.Enrollment]
		if !noted {
			note = schema.Unheard{Pipeline: j.Name, Enrollment: u.Member.Enrollment, Device: u.Member.Device, At: j.m.Run}
		}
		note.Devices++
		notes[note.Enrollment] = note
	}
	for _, note := range notes {
		e, err := note.Entity()
		if err != nil {
			return err
		}
		if _, err := j.runs().table.Do(ctx, tables.InsertOrReplace(e)); err != nil {
			return err
		}
	}
	return nil
}
