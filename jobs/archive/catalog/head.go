package catalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// A head is the newest state of a table. Every transaction that changes which files a table has replaces it, on the
// version that was read: so versions are in an order, and have no gaps.
type head struct {
	version int64 // newest, from 0
	epoch   int64 // number of erasures that have begun
	columns int   // of sensors, that the newest Metadata had
	removed bool

	id      string // of the Metadata
	created int64  // ms since 1970
	fixed   []delta.Column

	etag  tables.ETag
	count int          // of sensors' columns, that there are
	now   tables.Ticks // of storage
}

// head reads the head. ErrAbsent: there is none, or the table was removed.
func (t *Table) head(ctx context.Context) (h head, err error) {
	found := false
	q := tables.Query{Range: tables.RowsBetween(t.key, headRow, columnsRow)}
	for page, err := range t.rows.Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return h, err
		}
		if h.now = tables.TicksOf(page.Time); page.Time.IsZero() {
			return h, tables.ErrNoDate
		}
		for _, e := range page.Rows {
			if e.RowKey == columnsRow {
				h.count = int(e.Get("Columns").Int())
				continue
			}
			if found, err = true, h.decode(e); err != nil {
				return h, err
			}
		}
	}
	if !found || h.removed {
		return h, ErrAbsent
	}
	return h, nil
}

func (h *head) decode(e tables.Entity) error {
	f := e.Fields()
	h.version, h.epoch, h.columns = f.Int("Version"), f.Int("Epoch"), int(f.Int("Columns"))
	h.removed, h.id, h.created, h.etag = f.Boolean("Removed"), f.String("ID"), f.Int("Created"), e.ETag
	f.Fail("Fixed", json.Unmarshal([]byte(f.String("Fixed")), &h.fixed))
	return f.Err()
}

// moved returns the change of the row that makes h the head: of what transactions change.
func (t *Table) moved(h head) tables.Op {
	e := t.entity(headRow)
	e.Set("Version", tables.Int64(h.version))
	e.Set("Epoch", tables.Int64(h.epoch))
	e.Set("Columns", tables.Int64(int64(h.columns)))
	return tables.Merge(e, h.etag)
}

// Create makes a table with the columns that it has besides those of sensors, unless it exists. Files are partitioned
// by the column date.
func (t *Table) Create(ctx context.Context, fixed []delta.Column) error {
	h, err := t.head(ctx)
	if err == nil || !errors.Is(err, ErrAbsent) {
		return t.wrap("looking for it", err)
	}
	if h.removed {
		return t.wrap("making it", errors.New("a table that was removed is not made again yet"))
	}
	at := millis(h.now)
	h = head{id: uuid(), created: at, fixed: fixed}
	metadata, err := t.metadata(ctx, &h)
	if err != nil {
		return t.wrap("making it", err)
	}
	text, err := json.Marshal(fixed, json.Deterministic(true))
	if err != nil {
		return t.wrap("making it", err)
	}
	e := t.moved(h).Entity
	e.Set("Tenant", tables.String(string(t.Tenant)))
	e.Set("Table", tables.String(t.Name))
	e.Set("ID", tables.String(h.id))
	e.Set("Created", tables.Int64(h.created))
	e.Set("Fixed", tables.String(string(text)))
	count := t.entity(columnsRow)
	count.Set("Columns", tables.Int64(0))
	first := version{txn: rand.Text(), Version: delta.Version{Metadata: metadata}}
	first.Info.Operation, first.Info.Timestamp = "CREATE TABLE", at
	row, err := t.versionRow(0, &first)
	if err != nil {
		return t.wrap("making it", err)
	}
	if _, err := t.rows.Do(ctx, tables.InsertOrReplace(t.listing())); err != nil {
		return t.wrap("listing it", err)
	}
	_, err = t.rows.Submit(ctx, []tables.Op{tables.Insert(e), tables.Insert(count), tables.Insert(row)})
	if errors.Is(err, tables.ErrExists) {
		err = nil // somebody else's, or our own, whose answer was lost
	}
	return t.wrap("making it", err)
}

// RaiseEpoch begins an erasure: it has every job begin again that has read, and has not
// committed. Their files, whose rows may be of the device that is erased, are due at once.
func (t *Table) RaiseEpoch(ctx context.Context) error {
	for try := 0; ; try++ {
		h, err := t.head(ctx)
		if err == nil {
			h.epoch++
			_, err = t.rows.Do(ctx, t.moved(h))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, tables.ErrConflict) || try >= commit.Tries {
			return t.wrap("raising its epoch", err)
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return t.wrap("ending what is pending", t.endPending(ctx, func(tables.Entity) bool { return true }, true))
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func millis(t tables.Ticks) int64 { return t.Time().UnixMilli() }
