package verify

import (
	"context"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// compareRejects looks for the newest of the rejects that the pipeline has counted, and for the rows that were refused,
// or in part, among those that it keeps. Others may be there from former settings.
func (p *pipe) compareRejects(ctx context.Context) error {
	if len(p.refused) == 0 && p.track.Rejects == 0 || p.deleted(Rejects, 0) > 0 {
		return nil
	}
	kept, newest := map[string]bool{}, int64(-1)
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(p.member.Device)), Rows: schema.RejectsOf(p.Name)},
		Select: []string{"PartitionKey", "RowKey", schema.RejectNumber, schema.RejectRow}}
	for e, err := range p.Client.Table(p.Names.Rejects()).Entities(ctx, q) {
		if err != nil {
			return err
		}
		r, err := schema.RejectOf(e)
		if err != nil {
			return err
		}
		if kept[r.Row] = true; r.Ring == p.member.Ring() && r.Number < p.track.Rejects {
			newest = max(newest, r.Number)
		}
	}
	if newest != p.track.Rejects-1 { // those above are of a job that has not committed
		p.differ(difference{output: "rejects", from: p.from, to: p.to, is: "absent",
			want: fmt.Sprintf("there, as number %d of the rejects that were counted", p.track.Rejects)})
	}
	if p.track.Rejects > schema.RejectSlots {
		return nil
	}
	for _, row := range p.refused {
		if !kept[row] {
			at := tables.TicksBefore(row)
			p.differ(difference{output: "rejects", from: at, to: at + 1, is: "absent",
				want: fmt.Sprintf("there, as something of row %s is refused", tables.Quote(row))})
		}
	}
	return nil
}
