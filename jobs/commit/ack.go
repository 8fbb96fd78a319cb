package commit

import (
	"context"
	"errors"

	"furrow/tables"
)

// acknowledge writes acknowledgements beside their commands. Each is a row of its own that follows from its reading
// alone, so a row that exists is the same: a reading that is late, or folded again, changes nothing.
func (a *Attempt) acknowledge(ctx context.Context) error {
	table := a.Client.Table(a.Names.Commands())
	for _, d := range a.Work {
		if !d.live() || len(d.Acks) == 0 {
			continue
		}
		var changes []*Write
		for _, ack := range d.Acks {
			changes = append(changes, &Write{Device: d, Op: tables.Insert(ack.Entity()),
				Compare: func(found *tables.Entity) Resolution { return Resolution{Done: found != nil} }})
		}
		err := WriteAll(ctx, table, changes)
		if errors.Is(err, tables.ErrNoTable) { // nobody has sent a command in this fleet
			if err = table.Create(ctx); err == nil {
				err = WriteAll(ctx, table, changes)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			d.Unavailable(err)
		}
	}
	return nil
}
