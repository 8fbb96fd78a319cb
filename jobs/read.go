package jobs

import (
	"context"
	"errors"
	"fmt"

	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// devices is a batch as storage has it.
type devices struct {
	work    []*folding.Device
	strange map[string]error // rows of the fleet that cannot be read
	now     tables.Ticks     // of the service
}

// read reads the tracking rows of a batch, and then its rows of the fleet. A device without a tracking row is at its
// beginning. A tracking row that cannot be read is an error of its device alone.
func (p *Pipeline) read(ctx context.Context, b Batch) (*devices, error) {
	part := schema.Between(b.First, b.Last)
	rows := map[[2]string]tables.Entity{}
	for page, err := range p.tracking().Rows(ctx, tables.Query{Range: part}) {
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			rows[[2]string{e.PartitionKey, e.RowKey}] = e
		}
	}
	read := &devices{strange: map[string]error{}}
	for page, err := range p.Client.Table(p.Names.Fleet()).Rows(ctx, tables.Query{Range: part}) {
		if err != nil {
			return nil, err
		}
		if page.Time.IsZero() {
			return nil, tables.ErrNoDate
		}
		read.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			m, err := schema.MemberOf(e)
			if err != nil {
				read.strange[e.PartitionKey+"/"+e.RowKey] = fmt.Errorf("table %s: %w", p.Names.Fleet(), err)
				continue
			}
			if m.Place().Compare(b.First) < 0 || m.Place().Compare(b.Last) > 0 {
				continue // outside the batch, in a partition at either end
			}
			d := folding.NewDevice(m, tracking.New(), p.modelOf(m), p.OnFold)
			if row, tracked := rows[[2]string{e.PartitionKey, e.RowKey}]; tracked {
				d.Track(row)
			}
			if d.Row.ETag == "" { // it begins where retention has got to
				d.Row.Coverage.Raise(m.Watermark)
			}
			if errors.Is(d.Err, schema.ErrNewer) { // a newer worker takes care of it
				read.strange[m.Place().String()] = d.Err
				continue
			}
			read.work = append(read.work, d)
		}
	}
	return read, nil
}

// A Batch is the devices of the fleet from First to Last.
type Batch struct {
	First, Last schema.Place

	// Mark selects devices like Message.Mark. If it is empty, the batch is for all devices without a chain.
	Mark string
	// Claim is that of a follow-up, as in Message.Claim.
	Claim string
	// Slot is that of the job's run; zero if it has none.
	Slot tables.Ticks
	// Tried says that the job may have run before. It then repeats the messages of the marks that it finds, as they may be
	// its own.
	Tried bool
}

func (b Batch) alone() bool { return b.First == b.Last }
