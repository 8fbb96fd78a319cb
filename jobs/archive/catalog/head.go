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

	etag    tables.ETag
	count   int // of sensors' columns, that there are
	counted tables.ETag
	now     tables.Ticks // of storage
}

// head reads the head. ErrAbsent: there is none, or the table was removed.
func (p *partition) head(ctx context.Context) (h head, err error) {
	if h, err = p.anyHead(ctx); err == nil && h.removed {
		err = ErrAbsent
	}
	return h, err
}

// anyHead reads the head, also that of a table that was removed. ErrAbsent: there is none.
func (p *partition) anyHead(ctx context.Context) (h head, err error) {
	found := false
	q := tables.Query{Range: tables.RowsBetween(p.key, headRow, columnsRow)}
	for page, err := range p.rows.Rows(ctx, q) {
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
				h.count, h.counted = int(e.Get("Columns").Int()), e.ETag
				continue
			}
			if found, err = true, h.decode(e); err != nil {
				return h, err
			}
		}
	}
	if !found {
		return h, ErrAbsent
	}
	return h, nil
}

// removedHead returns the head of a table that is removed, and errMadeAgain if it is no longer. All changes that a
// removal makes have it in their transaction: so a machine that stood still changes nothing of a table that was made
// again.
func (p *partition) removedHead(ctx context.Context) (head, error) {
	h, err := p.anyHead(ctx)
	if err == nil && !h.removed {
		err = errMadeAgain
	}
	return h, err
}

func (h *head) decode(e tables.Entity) error {
	f := e.Fields()
	h.version, h.epoch, h.columns = f.Int("Version"), f.Int("Epoch"), int(f.Int("Columns"))
	h.removed, h.id, h.created, h.etag = f.Boolean("Removed"), f.String("ID"), f.Int("Created"), e.ETag
	f.Fail("Fixed", json.Unmarshal([]byte(f.String("Fixed")), &h.fixed))
	return f.Err()
}

// move returns the change of the row that makes h the head: of what transactions change.
func (h *head) move(p *partition) tables.Op {
	e := p.entity(headRow)
	e.Set("Version", tables.Int64(h.version))
	e.Set("Epoch", tables.Int64(h.epoch))
	e.Set("Columns", tables.Int64(int64(h.columns)))
	e.Set("ID", tables.String(h.id))
	return tables.Merge(e, h.etag)
}

// RaiseEpoch begins an erasure: it has every job begin again that has read, and has not
// committed. Their files, whose rows may be of the device that is erased, are due at once.
func (t *Table) RaiseEpoch(ctx context.Context) error {
	err := commit.RetryIf(ctx, commit.Tries, isConflict, func() error {
		h, err := t.head(ctx)
		if err == nil {
			h.epoch++
			_, err = t.rows.Do(ctx, h.move(t.partition))
		}
		return err
	})
	if err != nil {
		return t.wrap("raising its epoch", err)
	}
	return t.wrap("ending what is pending", t.endPending(ctx, func(tables.Entity) bool { return true }, true))
}

// whole returns the whole row of a head, with the names of the table.
func (h *head) whole(p *partition) (tables.Entity, error) {
	text, err := json.Marshal(h.fixed, json.Deterministic(true))
	e := h.move(p).Entity
	e.Set("Tenant", tables.String(string(p.Tenant)))
	e.Set("Table", tables.String(p.Name))
	e.Set("Created", tables.Int64(h.created))
	e.Set("Fixed", tables.String(string(text)))
	return e, err
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func millis(t tables.Ticks) int64 { return t.Time().UnixMilli() }
