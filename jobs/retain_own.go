package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// retainOwn deletes old rejects and commands of devices: once a day, as whole days go.
func (p *Pipeline) retainOwn(ctx context.Context, all []*retained, now tables.Ticks) error {
	for _, d := range all {
		if d.keep == nil || d.deviceRun.err != nil || d.dropped {
			continue
		}
		for _, own := range []struct {
			state string
			to    tables.Ticks
			sweep func(context.Context, *retained, tables.Ticks) (int, error)
		}{
			{"sweptrejects", before(d.keep.Rejects, now), p.forgetRejects},
			{"sweptcommands", before(d.keep.Commands, now), p.forgetCommands},
		} {
			swept := d.track.states[own.state]
			if len(swept) == 8 && tables.Ticks(binary.BigEndian.Uint64(swept)) >= own.to || own.to == 0 {
				continue
			}
			rows, err := own.sweep(ctx, d, own.to)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				d.unavailable(err)
				break
			}
			d.deviceRun.rows, d.track.rows = d.deviceRun.rows+rows, d.track.rows+int64(rows)
			d.track.states[own.state] = binary.BigEndian.AppendUint64(nil, uint64(own.to))
			d.dirty = true
		}
	}
	return nil
}

// forgetRejects deletes rejects from before a time. A job may replace one meanwhile, which then stays.
func (p *Pipeline) forgetRejects(ctx context.Context, d *retained, to tables.Ticks) (deleted int, err error) {
	table := p.Client.Table(p.Names.Rejects())
	for try := range tries {
		ops := []tables.Op(nil)
		for e, err := range table.Entities(ctx, tables.Query{Range: tables.Partition(string(d.member.Device)),
			Select: []string{"PartitionKey", "RowKey", schema.RejectAt}}) {
			if errors.Is(err, tables.ErrNoTable) {
				return deleted, nil
			}
			if err != nil {
				return deleted, err
			}
			if at := e.Get(schema.RejectAt).Ticks(); at > 0 && at < to {
				ops = append(ops, tables.Delete(e.PartitionKey, e.RowKey, e.ETag))
			}
		}
		err = nil
		for group := range slices.Chunk(ops, tables.MaxOps) {
			if _, err = table.Submit(ctx, group); err != nil {
				break
			}
			deleted += len(group)
		}
		if err == nil {
			return deleted, nil
		}
		if err := Pause(ctx, try); err != nil {
			return deleted, err
		}
	}
	return deleted, err
}

// forgetCommands deletes commands that were sent before a time, with their acknowledgements. None of them waits,
// because no command does for so long. The desired configuration stays.
func (p *Pipeline) forgetCommands(ctx context.Context, d *retained, to tables.Ticks) (int, error) {
	table, pk := p.Client.Table(p.Names.Commands()), string(d.member.Device)
	var going []string
	acks := false
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(pk), Rows: tables.Keys{From: "0", Before: to.String()}},
		Select: []string{"RowKey"}}
	for e, err := range table.Entities(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		going, acks = append(going, e.RowKey), acks || schema.IsAck(e)
	}
	if acks {
		desired, err := table.Get(ctx, pk, schema.DesiredRow)
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return 0, err
		}
		if c, err := schema.CommandOf(desired); err == nil {
			going = slices.DeleteFunc(going, func(key string) bool { return c.ID.Rows().Contains(key) })
		}
	}
	return len(going), deleteRows(ctx, table, pk, going)
}
