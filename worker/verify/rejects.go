package verify

import (
	"context"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// compareRejects looks for the rows that were refused, or in part, among the rejects that the pipeline keeps. Others
// may be there from former settings.
func (p *pipe) compareRejects(ctx context.Context) error {
	if len(p.refused) == 0 || p.track.Rejects > schema.RejectSlots || p.deleted(Rejects, 0) > 0 {
		return nil
	}
	kept := map[string]bool{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(p.member.Device)), Rows: schema.RejectsOf(p.Name)},
		Select: []string{schema.RejectRow}}
	for e, err := range p.Client.Table(p.Names.Rejects()).Entities(ctx, q) {
		if err != nil {
			return err
		}
		kept[e.Get(schema.RejectRow).Text()] = true
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
