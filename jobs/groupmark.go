package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// leaveMark has the commit leave a mark.
func (d *deviceRun) leaveMark(m schema.Mark) {
	if m.Kind == "" {
		return
	}
	if d.marks == nil {
		d.marks = map[string]schema.Mark{}
	}
	m.Month = d.member.Month
	d.marks[m.Key()] = m
}

// commitAll writes the commits of devices, those of a partition together with their marks. Marks that do not fit into
// the one transaction of the commits are written before them, so no commit is ever without its marks. A mark without a
// commit only has something made again in vain.
func (j *job) commitAll(ctx context.Context, changes []*change) error {
	for len(changes) > 0 {
		pk, n := changes[0].op.Entity.PartitionKey, 0
		for n < len(changes) && changes[n].op.Entity.PartitionKey == pk {
			n++
		}
		group := changes[:n]
		marks := marksOf(group)
		if together := append(marks, group...); len(marks) > 0 && len(cut(together)) == 1 {
			group = together
		} else if err := leaveMarks(ctx, j.pipeline.tracking(), marks); err != nil {
			return err
		}
		if err := writeBatch(ctx, j.pipeline.tracking(), group); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// marksOf returns the changes that leave the marks of devices.
func marksOf(commits []*change) (changes []*change) {
	marks := map[string]schema.Mark{}
	for _, c := range commits {
		maps.Copy(marks, c.device.marks)
	}
	for _, key := range slices.Sorted(maps.Keys(marks)) {
		changes = append(changes, &change{op: tables.InsertOrReplace(marks[key].Entity())})
	}
	return changes
}

// leaveMarks writes marks by themselves.
func leaveMarks(ctx context.Context, tracking *tables.Table, marks []*change) error {
	for _, group := range cut(marks) {
		if err := again(ctx, func() error { return submit(ctx, tracking, group) }); err != nil {
			return err
		}
	}
	return nil
}

// RenewMarks leaves the marks of a kind again that a tenant has in a partition of the fleet. Jobs that are working on
// them cannot delete them then: what they ask for is made once more, from what there is from now on.
func (p *Pipeline) RenewMarks(ctx context.Context, m schema.Month, k schema.MarkKind, t schema.Tenant) error {
	var marks []*change
	for e, err := range p.tracking().Entities(ctx, tables.Query{Range: schema.Marks(m, k)}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return err
		}
		if mark, err := schema.MarkOf(e); err == nil && mark.Tenant == t {
			marks = append(marks, &change{op: tables.InsertOrReplace(mark.Entity())})
		}
	}
	return leaveMarks(ctx, p.tracking(), marks)
}

// WithMark leaves a mark, makes what it asks for, and deletes it unless it was left again meanwhile. If it dies, the
// next group job continues.
func (p *Pipeline) WithMark(ctx context.Context, m schema.Mark, make func() error) error {
	left, err := p.tracking().Do(ctx, tables.InsertOrReplace(m.Entity()))
	if err != nil {
		return err
	}
	if err := make(); err != nil {
		return err
	}
	_, err = p.tracking().Do(ctx, tables.Delete(m.Month.String(), m.Key(), left.ETags[0]))
	if isChanged(err) {
		return nil
	}
	return err
}
