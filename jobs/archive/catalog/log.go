package catalog

import (
	"context"
	"errors"

	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// A published is what is known of a table's log in the container. It is a row of its own, so that publishing disturbs
// no commit.
type published struct {
	version int64        // that was published last; -1: none
	at      tables.Ticks // when that was, or later
	marks   []mark       // when which version was published, in order
	foreign bool         // somebody else has written into the log

	checkpoint int64        // newest; -1: none
	made       tables.Ticks // when that was; without one, when the first version was published
	bytes      int64        // of its file
	since      int64        // bytes of versions after it
	ended      int64        // versions below are over: an erasure has ended them, or the table was removed
	listed     tables.Ticks // until then, cleaning lists the table's folder

	etag tables.ETag // empty: there is no row yet
}

// A mark says that a version was published at a time of storage.
type mark struct {
	At      tables.Ticks `json:"at"`
	Version int64        `json:"version"`
}

func (t *Table) published(ctx context.Context) (p published, err error) {
	e, err := t.rows.Get(ctx, t.key, logRow)
	if errors.Is(err, tables.ErrNotFound) {
		return published{version: -1, checkpoint: -1}, nil
	}
	if err != nil {
		return p, err
	}
	f := e.Fields()
	p = published{version: f.Int("Version"), at: tables.Ticks(f.Int("At")), foreign: f.Boolean("Foreign"),
		checkpoint: f.Int("Checkpoint"),
		made:       tables.Ticks(f.Int("Made")), bytes: f.Int("Bytes"), since: f.Int("Since"), ended: f.Int("Ended"),
		listed: tables.Ticks(f.Int("Listed")), etag: e.ETag}
	f.Fail("Marks", json.Unmarshal([]byte(f.String("Marks")), &p.marks))
	return p, f.Err()
}

// save writes p on the version that was read.
func (t *Table) save(ctx context.Context, p *published) error {
	op, err := t.writePublished(p)
	if err != nil {
		return err
	}
	written, err := t.rows.Do(ctx, op)
	if err == nil {
		p.etag = written.ETags[0]
	}
	return err
}

func (t *Table) writePublished(p *published) (tables.Op, error) {
	marks, err := json.Marshal(p.marks)
	e := t.entity(logRow)
	e.Set("Version", tables.Int64(p.version))
	e.Set("At", tables.Int64(int64(p.at)))
	e.Set("Foreign", tables.Boolean(p.foreign))
	e.Set("Checkpoint", tables.Int64(p.checkpoint))
	e.Set("Made", tables.Int64(int64(p.made)))
	e.Set("Bytes", tables.Int64(p.bytes))
	e.Set("Since", tables.Int64(p.since))
	e.Set("Ended", tables.Int64(p.ended))
	e.Set("Marks", tables.String(string(marks)))
	e.Set("Listed", tables.Int64(int64(p.listed)))
	if p.etag == "" {
		return tables.Insert(e), err
	}
	return tables.Replace(e, p.etag), err
}

// note notes that a version was published by a time. Marks are an hour apart, and for as long as anybody asks: what
// was removed is due a day after its version was published.
func (p *published) note(version int64, at tables.Ticks) {
	p.version, p.at = version, at
	if n := len(p.marks); n > 0 && at < p.marks[n-1].At+markEvery {
		return
	}
	p.marks = append(p.marks, mark{at, version})
	p.marks = p.marks[max(0, len(p.marks)-keptMarks):]
}

const (
	markEvery = tables.Hour
	keptMarks = 48
)

// before reports whether a version was published before a time. It may say so late.
func (p *published) before(version int64, at tables.Ticks) bool {
	if p.version >= version && p.at <= at {
		return true
	}
	for _, m := range p.marks {
		if m.Version >= version && m.At <= at {
			return true
		}
	}
	return false
}
