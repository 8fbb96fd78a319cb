package folding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/tables"
)

// MaxWeight is how many bytes of effects and refusals a job gathers before it writes. Rows of hundreds of sensors that
// are far apart make much more of these than their own size. In memory they are several times as large, in each of the
// jobs that run at a time: after days without a worker, that is most of its memory.
const MaxWeight = 2 << 20

// MaxBytes is how many bytes of rows a job folds of a device, give or take a chunk. 5,000 rows of six sensors have 2
// MiB; as many of the largest rows have 5 GiB, and the other devices of the batch would wait for all of them.
const MaxBytes = 8 << 20

// foldLimit bounds how long a job folds one device. Samples are bounded, so only a fault of a processor, or a machine
// that stands still, takes so long.
const foldLimit = 5 * time.Minute

// tooLong is called between chunks of rows.
func (d *Device) tooLong() error {
	if d.began.IsZero() {
		d.began = time.Now()
	}
	if took := time.Since(d.began); took > foldLimit {
		return fmt.Errorf("%d rows were folded in %v, which is too long; the last one is %s", d.Folded,
			took.Round(time.Second), tables.Quote(d.Row.Last))
	}
	return nil
}

// Limits bound what one call of read folds.
type Limits struct {
	Rows   int // at most
	Bytes  int // of all rows that the device has folded; zero is no bound
	Weight int // of all that the device has folded

	// Brief, if it is not zero, has a device that begins with a whole page of earlier rows fold none of them.
	Brief tables.Ticks
	Page  int // rows of a page where Brief is set
}

// ErrFarBehind says that a device begins with a whole page of rows from before Limits.Brief.
var ErrFarBehind = errors.New("the device is far behind")

// Read folds the rows of a range until a limit is reached, page by page, so it holds no more than a page. Then the
// device is Behind. Its error is of reading; what is wrong with the device is in its Err.
func (d *Device) Read(ctx context.Context, readings *tables.Table, rows tables.Range, l Limits) error {
	query := tables.Query{Range: rows, Size: min(l.Rows, 1000)}
	if l.Brief > 0 {
		query.Size = min(l.Page, 1000)
	}
	for page, err := range readings.Rows(ctx, query) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil // the first device of an enrollment has not written yet
		}
		if err != nil {
			return err
		}
		d.Seen = max(d.Seen, tables.TicksOf(page.Time))
		full := len(page.Rows) >= query.Size && page.Next != (tables.Continuation{})
		page.Rows = d.recount(page.Rows)
		if full && d.Folded == 0 && len(page.Rows) > 0 && tables.TicksBefore(page.Rows[0].RowKey) < l.Brief {
			return ErrFarBehind
		}
		if err := d.noteImports(ctx, page.Rows); err != nil {
			return err
		}
		if done, err := d.page(ctx, page, l); done || err != nil {
			return err
		}
	}
	return nil
}

// recount counts the rows that are folded already, which come first, and returns the others.
func (d *Device) recount(rows []tables.Entity) []tables.Entity {
	for d.Recount != nil && len(rows) > 0 && rows[0].RowKey <= d.Row.Last {
		d.Recount.Add(rows[0].RowKey)
		rows = rows[1:]
	}
	return rows
}

// noteImports reads the notes of imports again where rows about the past have none: an import may have begun since the
// membership was read, and what it wrote would raise alarms. Its note was stored before these rows were.
func (d *Device) noteImports(ctx context.Context, rows []tables.Entity) (err error) {
	watched := false
	for range d.Model.Watchers {
		watched = true
	}
	unknown := func(e tables.Entity) bool {
		at := tables.TicksBefore(e.RowKey)
		return at < d.Horizon-history && !d.Member.Imports.Cover(at)
	}
	if d.Notes != nil && watched && slices.ContainsFunc(rows, unknown) {
		d.Member.Imports, err = d.Notes(ctx)
	}
	return err
}

// page folds a page chunk by chunk, and reports whether that is enough.
func (d *Device) page(ctx context.Context, page tables.Page, l Limits) (done bool, err error) {
	for left := page.Rows; len(left) > 0; {
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		if d.Err = d.tooLong(); d.Err != nil {
			return true, nil
		}
		n := min(chunkOf(left), l.Rows-d.Folded)
		var taken int
		if taken, d.Err = d.foldRows(left[:n]); d.Err != nil {
			return true, nil
		}
		left = left[taken:]
		if taken < n {
			d.Behind = true
			return true, nil
		}
		if d.Folded >= l.Rows || d.Weight >= l.Weight || l.Bytes > 0 && d.Bytes >= l.Bytes {
			d.Behind = len(left) > 0 || page.Next != (tables.Continuation{})
			return true, nil
		}
	}
	return false, nil
}

// Bounds of what is folded between two looks at the context and at the weight. The outputs of a row with 1,000 sensors
// are some hundred times as large as the row, so a chunk is also bounded in bytes. 100 rows of six sensors have 40 KiB.
const (
	chunkRows  = 100
	chunkBytes = 64 << 10
)

// chunkOf returns how many of rows make a chunk, at least one.
func chunkOf(rows []tables.Entity) (n int) {
	for size := 0; n < min(chunkRows, len(rows)); n++ {
		if size += rows[n].Size(); size > chunkBytes && n > 0 {
			break
		}
	}
	return n
}
