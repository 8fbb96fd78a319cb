package jobs

import (
	"context"
	"errors"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// acknowledge takes the acknowledgement of a command out of a reading, if it has one and the pipeline is the one that
// writes them. It does not depend on the device's model.
func (d *deviceRun) acknowledge(row *tables.Entity) {
	said := row.Get(schema.AckProperty)
	if said == (tables.Value{}) || !d.model.Acknowledges() {
		return
	}
	ack, err := schema.ParseAck(*row, said)
	if err != nil {
		d.refuse(fold.Refusal{Row: row.RowKey, Sensor: schema.AckProperty, Reason: err.Error()}, row)
		return
	}
	d.acks = append(d.acks, ack)
	e := ack.Entity()
	d.weight += e.Size()
}

// acknowledge writes acknowledgements beside their commands. Each is a row of its own that follows from its reading
// alone, so a row that exists is the same: a reading that is late, or folded again, changes nothing.
func (j *job) acknowledge(ctx context.Context) error {
	table := j.pipeline.Client.Table(j.pipeline.Names.Commands())
	for _, d := range j.work {
		if !d.live() || len(d.acks) == 0 {
			continue
		}
		var changes []*change
		for _, ack := range d.acks {
			changes = append(changes, &change{device: d, op: tables.Insert(ack.Entity()),
				compare: func(found *tables.Entity) resolution { return resolution{done: found != nil} }})
		}
		err := writeBatch(ctx, table, changes)
		if errors.Is(err, tables.ErrNoTable) { // nobody has sent a command in this fleet
			if err = table.Create(ctx); err == nil {
				err = writeBatch(ctx, table, changes)
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			d.unavailable(err)
		}
	}
	return nil
}
