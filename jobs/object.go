package jobs

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furrow/tables"
)

// name is that of an output that is an object.
func (o Output) name() string { return o.PartitionKey + "/" + o.RowKey }

var errNoObjects = errors.New("its pipeline makes objects, and the worker was given no place for them")

// objects writes the outputs that are objects, whose readings no fold holds: each
// is read once more from the readings table, and goes on as it is read.
func (j *job) objects(ctx context.Context) error {
	for _, d := range j.work {
		for _, o := range sortedOutputs(d.effects) {
			if o.Kind != Object || !d.live() {
				continue
			}
			if err := j.object(ctx, d, o); err != nil {
				return fmt.Errorf("object %s: %w", o.name(), err)
			}
		}
	}
	return nil
}

// object writes one. What has come in late since the rows were folded is in it:
// so where nothing else was made of them, they are passed, too.
func (j *job) object(ctx context.Context, d *folding, o Output) error {
	p := j.pipeline
	if p.Objects == nil {
		d.err = errNoObjects
		return nil
	}
	w := window{d.effects[o].From, d.effects[o].To}
	read := &Ledger{}
	err := p.Objects.Write(ctx, o.name(), d.track.fence, p.readings(ctx, d, w, read))
	if errors.Is(err, ErrOvertaken) {
		d.dropped = true
		return nil
	}
	if err == nil && len(p.Processors) == 1 {
		d.track.passed(w, read)
	}
	return err
}

// readings are those of a window, below the checkpoint, in row order. All rows
// that it passes are added to read, also those that are no readings.
func (p *Pipeline) readings(ctx context.Context, d *folding, w window, read *Ledger) iter.Seq2[tables.Reading, error] {
	rows := tables.Range{Partitions: tables.Is(string(d.member.Device)),
		Rows: tables.Keys{From: w.from.String(), Before: w.to.String(), To: d.track.last}}
	return func(yield func(tables.Reading, error) bool) {
		for page, err := range p.Client.Table(d.member.Readings).Rows(ctx, tables.Query{Range: rows}) {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(tables.Reading{}, err)
				return
			}
			for _, e := range page.Rows {
				read.Add(e.RowKey)
				if r, err := tables.ReadingOf(e); err == nil && !yield(r, nil) {
					return
				}
			}
		}
	}
}

// passed enters what was read of a window, whose ends are those of days, into the
// ledger. Where it is less than what was counted once, the ledger stays: rows
// that are gone are an audit's to report.
func (t *track) passed(w window, read *Ledger) {
	w.from = max(w.from, t.floor)
	if read.Count(w.from, w.to) > t.ledger.Count(w.from, w.to) {
		t.rows += t.ledger.replace(w, read)
	}
}
