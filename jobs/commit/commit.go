package commit

import (
	"context"
	"maps"
	"slices"

	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// leaveMark has the commit leave a mark.
func (d *Device) leaveMark(m schema.Mark) {
	if m.Kind == "" {
		return
	}
	if d.marks == nil {
		d.marks = map[string]schema.Mark{}
	}
	m.Month = d.Member.Month
	d.marks[m.Key()] = m
}

// commitAll writes the commits of devices, those of a partition together with their marks. Marks that do not fit into
// the one transaction of the commits are written before them, so no commit is ever without its marks. A mark without a
// commit only has something made again in vain.
func (a *Attempt) commitAll(ctx context.Context, commits []*Write) error {
	for group := range byPartition(commits) {
		marks := marksOf(group)
		if together := append(marks, group...); len(marks) > 0 && len(cut(together)) == 1 {
			group = together
		} else if err := LeaveMarks(ctx, a.Tracking(), marks); err != nil {
			return err
		}
		if err := WriteAll(ctx, a.Tracking(), group); err != nil {
			return err
		}
	}
	return nil
}

// marksOf returns the changes that leave the marks of devices.
func marksOf(commits []*Write) (changes []*Write) {
	marks := map[string]schema.Mark{}
	for _, c := range commits {
		maps.Copy(marks, c.Device.marks)
	}
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		changes = append(changes, &Write{Op: tables.InsertOrReplace(marks[key].Entity())})
	}
	return changes
}

// LeaveMarks writes marks by themselves.
func LeaveMarks(ctx context.Context, tracking *tables.Table, marks []*Write) error {
	for _, group := range cut(marks) {
		if err := Retry(ctx, func() error { return submit(ctx, tracking, group) }); err != nil {
			return err
		}
	}
	return nil
}

// commit moves the checkpoints, each with its state and ledger in one step, on the version that the claim made. From
// then on the rows are folded.
func (a *Attempt) commit(ctx context.Context) error {
	var changes []*Write
	for _, d := range a.Work {
		if !d.live() {
			continue
		}
		d.Row.Ledger.Compact(a.Clock.Surely(a.Now, 0))
		a.setMarks(d)
		d.Row.Generation = max(d.Row.Generation, a.Generation)
		op := d.Row.Committed(d.Member, a.Claim)
		changes = append(changes, &Write{Device: d, Op: op, Compare: func(found *tables.Entity) Resolution {
			switch {
			case found == nil || found.Get(schema.TrackClaim).Text() != a.Claim:
				return Resolution{Taken: true}
			case found.Get(schema.TrackCommitted).Text() == a.Claim:
				return Resolution{Done: true, ETag: found.ETag}
			case !d.Row.SameWork(found): // somebody has rewound the device meanwhile, which must not be lost
				return Resolution{Taken: true}
			}
			return Resolution{ETag: found.ETag}
		}})
	}
	err := a.commitAll(ctx, changes)
	for _, c := range changes {
		if c.Done {
			c.Device.Row.ETag, c.Device.Claimed, c.Device.committed = c.ETag, false, true
			c.Device.Row.Hold.Committed, c.Device.Row.Hold.Takeovers = a.Claim, 0
		}
	}
	return err
}

// setMarks sets the IDs of the messages that are put after the commit.
func (a *Attempt) setMarks(d *Device) {
	t := d.Row
	until := max(a.Now, d.Seen).Add(a.Marks)
	switch {
	case d.Behind && t.Was.Chain.ID == "":
		t.Chain = tracking.Mark{ID: a.Claim} // it waits for its turn
	case d.Behind:
		t.Chain = tracking.Mark{ID: a.Claim, Until: until}
	}
	switch {
	case t.Coverage.Next().Empty():
		t.RefoldMark = tracking.Mark{}
	case t.Refolded():
		t.RefoldMark = tracking.Mark{ID: a.Claim, Until: until}
	}
}
