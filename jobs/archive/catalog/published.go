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

func (p *partition) published(ctx context.Context) (log published, err error) {
	e, err := p.rows.Get(ctx, p.key, logRow)
	if errors.Is(err, tables.ErrNotFound) {
		return published{version: -1, checkpoint: -1}, nil
	}
	if err != nil {
		return log, err
	}
	f := e.Fields()
	log = published{version: f.Int("Version"), at: tables.Ticks(f.Int("At")), foreign: f.Boolean("Foreign"),
		checkpoint: f.Int("Checkpoint"),
		made:       tables.Ticks(f.Int("Made")), bytes: f.Int("Bytes"), since: f.Int("Since"), ended: f.Int("Ended"),
		listed: tables.Ticks(f.Int("Listed")), etag: e.ETag}
	f.Fail("Marks", json.Unmarshal([]byte(f.String("Marks")), &log.marks))
	return log, f.Err()
}

// save writes what is known of the log on the version that was read.
func (p *partition) save(ctx context.Context, log *published) error {
	op, err := log.write(p)
	if err != nil {
		return err
	}
	written, err := p.rows.Do(ctx, op)
	if err == nil {
		log.etag = written.ETags[0]
	}
	return err
}

func (log *published) write(p *partition) (tables.Op, error) {
	marks, err := json.Marshal(log.marks)
	e := p.entity(logRow)
	e.Set("Version", tables.Int64(log.version))
	e.Set("At", tables.Int64(int64(log.at)))
	e.Set("Foreign", tables.Boolean(log.foreign))
	e.Set("Checkpoint", tables.Int64(log.checkpoint))
	e.Set("Made", tables.Int64(int64(log.made)))
	e.Set("Bytes", tables.Int64(log.bytes))
	e.Set("Since", tables.Int64(log.since))
	e.Set("Ended", tables.Int64(log.ended))
	e.Set("Marks", tables.String(string(marks)))
	e.Set("Listed", tables.Int64(int64(log.listed)))
	if log.etag == "" {
		return tables.Insert(e), err
	}
	return tables.Replace(e, log.etag), err
}

// note notes that a version was published by a time. Marks are an hour apart, and for as long as anybody asks: what
// was removed is due a day after its version was published.
func (log *published) note(version int64, at tables.Ticks) {
	log.version, log.at = version, at
	if n := len(log.marks); n > 0 && at < log.marks[n-1].At+markEvery {
		return
	}
	log.marks = append(log.marks, mark{at, version})
	log.marks = log.marks[max(0, len(log.marks)-keptMarks):]
}

const (
	markEvery = tables.Hour
	keptMarks = 48
)

// before reports whether a version was published before a time. It may say so late.
func (log *published) before(version int64, at tables.Ticks) bool {
	if log.version >= version && log.at <= at {
		return true
	}
	for _, m := range log.marks {
		if m.Version >= version && m.At <= at {
			return true
		}
	}
	return false
}
