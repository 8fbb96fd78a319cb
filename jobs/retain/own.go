package retain

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// retainOwn deletes old rejects and commands of devices: once a day, as whole days go.
func (p *Retainer) retainOwn(ctx context.Context, all []*retained, now tables.Ticks) error {
	for _, d := range all {
		if d.keep == nil || d.lost() {
			continue
		}
		for _, own := range d.keep.Own() {
			forget := p.forgetRejects
			switch own.Table {
			case rollupsTable:
				continue // retainOutputs
			case commandsTable:
				forget = p.forgetCommands
			}
			to := own.Below(now)
			if to <= d.swept(own) {
				continue
			}
			rows, err := forget(ctx, d, to)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				d.Unavailable(err)
				break
			}
			d.done.Rows, d.Row.Rows = d.done.Rows+rows, d.Row.Rows+int64(rows)
			d.count(own.Table, rows)
			d.noteSwept(own, to)
		}
	}
	return nil
}

// sweptState is the name of the state that says how far a table of a device was deleted.
func sweptState(t KeptTable) string {
	if t.Table == rollupsTable {
		return "swept" + t.Window.String()
	}
	return "swept" + t.Table
}

func (d *retained) noteSwept(t KeptTable, to tables.Ticks) {
	d.Row.States[sweptState(t)] = binary.BigEndian.AppendUint64(nil, uint64(to))
	d.Dirty = true
}

// swept returns the time below which rows of a table are gone.
func (d *retained) swept(t KeptTable) tables.Ticks {
	if state := d.Row.States[sweptState(t)]; len(state) == 8 {
		return tables.Ticks(binary.BigEndian.Uint64(state))
	}
	return 0
}

// forgetRejects deletes rejects from before a time. A job may replace one meanwhile, which then stays.
func (p *Retainer) forgetRejects(ctx context.Context, d *retained, to tables.Ticks) (deleted int, err error) {
	table := p.Client.Table(p.Names.Rejects())
	for try := range commit.Tries {
		var ops []tables.Op
		if ops, err = p.oldRejects(ctx, d, to); err != nil {
			return deleted, err
		}
		for group := range slices.Chunk(ops, tables.MaxOps) {
			if _, err = table.Submit(ctx, group); err != nil {
				break
			}
			deleted += len(group)
		}
		if err == nil {
			return deleted, nil
		}
		if err := commit.Pause(ctx, try); err != nil {
			return deleted, err
		}
	}
	return deleted, err
}

// oldRejects returns what deletes the rejects from before a time.
func (p *Retainer) oldRejects(ctx context.Context, d *retained, to tables.Ticks) (ops []tables.Op, err error) {
	for e, err := range p.Client.Table(p.Names.Rejects()).Entities(ctx, tables.Query{
		Range:  tables.Partition(string(d.Member.Device)),
		Select: []string{"PartitionKey", "RowKey", schema.RejectAt}}) {
		if err != nil {
			return nil, err
		}
		if at := e.Get(schema.RejectAt).Ticks(); at > 0 && at < to {
			ops = append(ops, tables.Delete(e.PartitionKey, e.RowKey, e.ETag))
		}
	}
	return ops, nil
}

// forgetCommands deletes commands that were sent before a time, with their acknowledgements. None of them waits,
// because no command does for so long. The desired configuration stays.
func (p *Retainer) forgetCommands(ctx context.Context, d *retained, to tables.Ticks) (int, error) {
	going, _, err := p.oldCommands(ctx, d, to)
	if err != nil {
		return 0, err
	}
	return len(going), deleteRows(ctx, p.Client.Table(p.Names.Commands()), string(d.Member.Device), going)
}

// oldCommands returns the keys of commands that were sent before a time and go, and how many rows of the desired
// configuration stay.
func (p *Retainer) oldCommands(ctx context.Context, d *retained, to tables.Ticks) (going []string, stay int,
	err error) {
	table, pk := p.Client.Table(p.Names.Commands()), string(d.Member.Device)
	acks := false
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(pk), Rows: tables.Keys{From: "0", Before: to.String()}},
		Select: []string{"RowKey"}}
	for e, err := range table.Entities(ctx, q) {
		if err != nil {
			return nil, 0, err
		}
		going, acks = append(going, e.RowKey), acks || schema.IsAck(e)
	}
	if acks {
		desired, err := table.Get(ctx, pk, schema.DesiredRow)
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return nil, 0, err
		}
		if c, err := schema.CommandOf(desired); err == nil {
			old := len(going)
			going = slices.DeleteFunc(going, func(key string) bool { return c.ID.Rows().Contains(key) })
			stay = old - len(going)
		}
	}
	return going, stay, nil
}
