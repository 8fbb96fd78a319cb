package jobs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// devices is a batch as storage has it.
type devices struct {
	*Pipeline
	of      Batch
	work    []*folding.Device
	strange map[string]error // rows of the fleet that cannot be read
	now     tables.Ticks     // of the service
}

// read reads the tracking rows of a batch, and then its rows of the fleet. A device without a tracking row is at its
// beginning. A tracking row that cannot be read is an error of its device alone.
func (p *Pipeline) read(ctx context.Context, b Batch) (*devices, error) {
	rows, parts := map[[2]string]tables.Entity{}, b.parts()
	for page, err := range rowsOf(ctx, p.tracking(), parts) {
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			rows[[2]string{e.PartitionKey, e.RowKey}] = e
		}
	}
	read, modelOf := &devices{Pipeline: p, of: b, strange: map[string]error{}}, p.models()
	for page, err := range rowsOf(ctx, p.Client.Table(p.Names.Fleet()), parts) {
		if err != nil {
			return nil, err
		}
		read.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			m, err := schema.MemberOf(e)
			if err != nil {
				read.strange[e.PartitionKey+"/"+e.RowKey] = fmt.Errorf("table %s: %w", p.Names.Fleet(), err)
				continue
			}
			if !b.has(m.Place()) {
				continue
			}
			d := folding.NewDevice(m, nil, modelOf(m), p.OnFold)
			if row, tracked := rows[[2]string{e.PartitionKey, e.RowKey}]; tracked {
				d.Track(row)
			} else { // it begins where retention has got to
				d.Row = tracking.New()
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

// A Batch is the devices of the fleet from First to Last, or some of them.
type Batch struct {
	First, Last schema.Place
	Only        []schema.Place // these alone, in order; none: all
	Resting     int            // how many others there are, where Only lists some

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

// has reports whether a device between First and Last, or in a partition at either end, belongs to the batch.
func (b Batch) has(at schema.Place) bool {
	if len(b.Only) == 0 {
		return at.Compare(b.First) >= 0 && at.Compare(b.Last) <= 0
	}
	_, is := slices.BinarySearchFunc(b.Only, at, schema.Place.Compare)
	return is
}

// together is how many rows a query names. Azure takes 15 comparisons in a filter, and the range has three.
const together = 12

// parts returns the queries that read a batch: all from First to Last at once, unless most of these rest.
func (b Batch) parts() (all []tables.Query) {
	if b.Resting <= len(b.Only) {
		return []tables.Query{{Range: schema.Between(b.First, b.Last)}}
	}
	for left := b.Only; len(left) > 0; {
		n := 1
		for n < min(together, len(left)) && left[n].Month == left[0].Month {
			n++
		}
		q := tables.Query{Range: schema.Between(left[0], left[n-1])}
		for i, d := range left[:n] {
			if i > 0 {
				q.Filter += " or "
			}
			q.Filter += "RowKey eq " + tables.Literal(string(d.Key))
		}
		all, left = append(all, q), left[n:]
	}
	return all
}

// rowsOf yields the pages of some queries, one after the other.
func rowsOf(ctx context.Context, t *tables.Table, parts []tables.Query) iter.Seq2[tables.Page, error] {
	return func(yield func(tables.Page, error) bool) {
		for _, q := range parts {
			for page, err := range t.DatedRows(ctx, q) {
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
}
