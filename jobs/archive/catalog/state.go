package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
)

// A VersionSummary is what one version of a table changed, and why.
type VersionSummary struct {
	Number                  int64
	At                      time.Time
	Why                     string // for people
	Operation               string // as readers show it
	FilesAdded, FilesGone   int64
	RowsAdded, RowsGone     int64 // of those files: a row that stays is in both
	Published, BeginsTheLog bool
}

// Versions yields the versions of a table that the catalog still has, from number first on.
func (t *Table) Versions(ctx context.Context, first int64) iter.Seq2[VersionSummary, error] {
	return func(yield func(VersionSummary, error) bool) {
		p, err := t.published(ctx)
		if err != nil {
			yield(VersionSummary{}, t.wrap("reading its versions", err))
			return
		}
		q := t.query(versionRows)
		q.Range.Rows.From = versionRow(max(0, first))
		q.Select = []string{"PartitionKey", "RowKey", "Timestamp", "Why", "Operation", "At", "FilesAdded", "FilesGone",
			"RowsAdded", "RowsGone", "Begins"}
		for v, err := range read(ctx, t.partition, q, summaryOf) {
			v.Published = v.Number <= p.version
			if !yield(v, t.wrap("reading its versions", err)) {
				return
			}
		}
	}
}

func summaryOf(e tables.Entity) (v VersionSummary, err error) {
	f := e.Fields()
	v = VersionSummary{At: time.UnixMilli(f.Int("At")).UTC(), Why: f.String("Why"), Operation: f.String("Operation"),
		FilesAdded: f.Int("FilesAdded"), FilesGone: f.Int("FilesGone"), RowsAdded: f.Int("RowsAdded"),
		RowsGone: f.Int("RowsGone"), BeginsTheLog: f.Boolean("Begins")}
	_, err = fmt.Sscanf(strings.TrimPrefix(e.RowKey, versionRows), "%020d", &v.Number)
	f.Fail("RowKey", err)
	return v, f.Err()
}

// A State is what a table has now.
type State struct {
	Removed   bool      // all that follows is about what is left to be cleaned
	Version   int64     // newest
	Published int64     // newest one that readers find; -1: none
	Waiting   time.Time // since when a version waits for being published; zero: none does
	Foreign   bool      // nothing is published before there is a fresh log
	Days      int64     // that have live files
	First     schema.Day
	Last      schema.Day
	Files     int64 // live ones
	Rows      int64 // in them
	Bytes     int64 // of them
}

// State counts what a table has. It reads the row of every file.
func (t *Table) State(ctx context.Context) (s State, err error) {
	defer func() { err = t.wrap("its state", err) }()
	p, err := t.published(ctx)
	if err != nil {
		return s, err
	}
	h, err := t.anyHead(ctx)
	if err != nil {
		return s, err
	}
	s = State{Removed: h.removed, Version: h.version, Published: p.version, Foreign: p.foreign}
	if p.version < h.version {
		v, err := t.rows.Get(ctx, t.key, versionRow(p.version+1))
		if err == nil {
			s.Waiting = v.Timestamp.Time()
		} else if !errors.Is(err, tables.ErrNotFound) { // published meanwhile
			return s, err
		}
	}
	err = s.countFiles(ctx, t)
	return s, err
}

func (s *State) countFiles(ctx context.Context, t *Table) error {
	q := t.query(fileRows)
	q.Select = []string{"PartitionKey", "RowKey", "Timestamp", "Bytes", "Stats"}
	for e, err := range t.rows.Entities(ctx, q) {
		if err != nil {
			return err
		}
		if err := s.countDay(e.RowKey); err != nil {
			return err
		}
		var stats delta.Stats
		f := e.Fields()
		f.Fail("Stats", json.Unmarshal([]byte(f.String("Stats")), &stats))
		s.Files, s.Rows, s.Bytes = s.Files+1, s.Rows+stats.Rows, s.Bytes+f.Int("Bytes")
		if err := f.Err(); err != nil {
			return err
		}
	}
	return nil
}

// countDay counts the day of a file. Files come in the order of days.
func (s *State) countDay(row string) error {
	parts, err := parse(row, fileRows, 2)
	if err != nil {
		return err
	}
	day, err := schema.ParseDay(parts[0])
	if s.Days == 0 {
		s.First = day
	}
	if s.Days == 0 || day != s.Last {
		s.Days, s.Last = s.Days+1, day
	}
	return err
}
