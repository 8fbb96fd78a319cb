package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"furrow/tables"
)

// A folding is what a job does with one device.
type folding struct {
	member  tables.Member
	track   *track
	effects map[Output]Effect
	refused []refusedRow
	rows    int
	behind  bool  // there are more rows than were folded
	dropped bool  // another job has overtaken this one
	err     error // why it could not be folded
}

// refusedRow is a refusal with the row that it is of.
type refusedRow struct {
	Refusal
	row *tables.Entity
}

// maxRefused bounds the rejects that are written of a device at a time; the rest
// are only counted.
const maxRefused = 100

// fold reads the rows of a device from its checkpoint to the horizon, at most so
// many, and folds them page by page: no more than a page is held at a time.
// What it finds wrong with the device is its own error, and no other's.
func (p *Pipeline) fold(ctx context.Context, d *folding, horizon string, most int) {
	defer func() {
		if r := recover(); r != nil {
			d.err = fmt.Errorf("panic in a fold: %v\n%s", r, debug.Stack())
		}
	}()
	table := p.Client.Table(d.member.Readings)
	query := tables.Query{Range: tables.RowsAfter(string(d.member.Device), d.track.last, horizon), Size: min(most, 1000)}
	for page, err := range table.Rows(ctx, query) {
		if errors.Is(err, tables.ErrNoTable) {
			return // the first device of an enrollment has not written yet
		}
		if err != nil {
			d.err = err
			return
		}
		if d.err = p.foldPage(d, page.Rows); d.err != nil {
			return
		}
		if d.rows >= most {
			d.behind = page.Next != (tables.Continuation{})
			return
		}
	}
}

// foldPage folds rows and moves the device's checkpoint, in memory.
func (p *Pipeline) foldPage(d *folding, rows []tables.Entity) error {
	samples := make([]Sample, 0, len(rows))
	byKey := make(map[string]*tables.Entity, len(rows))
	for i := range rows {
		e := &rows[i]
		byKey[e.RowKey] = e
		d.track.ledger.Add(e.RowKey)
		d.track.last = e.RowKey
		r, err := tables.ReadingOf(*e)
		if err != nil {
			d.refuse(Refusal{Row: e.RowKey, Reason: err.Error()}, e)
			continue
		}
		sample, refused := p.Sensors.Sample(r)
		for _, r := range refused {
			d.refuse(r, e)
		}
		samples = append(samples, sample)
	}
	d.rows += len(rows)
	d.track.rows += int64(len(rows))
	for _, processor := range p.Processors {
		out, err := processor.Fold.Fold(d.member, d.track.states[processor.Name], samples)
		if err != nil {
			return err
		}
		d.track.states[processor.Name] = out.State
		for _, e := range out.Effects {
			d.effect(e)
		}
		for _, r := range out.Refused {
			d.refuse(r, byKey[r.Row])
		}
	}
	return nil
}

// effect keeps the newest of what is to be written to an output.
func (d *folding) effect(e Effect) {
	if e.Properties == nil {
		e.Properties = d.effects[e.Output].Properties
	}
	d.effects[e.Output] = e
}

func (d *folding) refuse(r Refusal, row *tables.Entity) {
	d.track.rejects++
	if len(d.refused) < maxRefused {
		d.refused = append(d.refused, refusedRow{r, row})
	}
}

// live tells whether the device is still this job's to write for.
func (d *folding) live() bool { return d.rows > 0 && d.err == nil && !d.dropped }
