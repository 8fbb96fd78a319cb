package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// Tables makes what the tables of an archive have of tenants' days. It is safe for concurrent use.
type Tables struct {
	Contents
	Source *groups.Source
	About  About
	Summed Summed // tables of rollups and reports that there are besides readings
	// Hourly asks for files of hours until the day is over. They have no rollups and reports.
	Hourly bool
	// CloseAfter is how long after its end a day or an hour stays open.
	CloseAfter time.Duration
	// Settle is how long a row may take to become visible to everybody.
	Settle time.Duration
	// KeepVersions is how long earlier versions of tables can be read; zero means a day. Those of reports can longer.
	KeepVersions time.Duration
	// Hold has all marks wait: a worker of an earlier release may make the same days in its form.
	Hold bool

	// FileBytes is about how large a file becomes; zero means 64 MiB.
	FileBytes int
	// Replace is how long nothing of a day has changed before late rows do; zero means an hour.
	Replace time.Duration
	// Quiet is how long no row of a day has come before those of an import do; zero means two minutes. If it is
	// negative, nothing waits.
	Quiet time.Duration

	formerBy map[schema.Window][]schema.By // groups of reports that are no longer configured

	older   older
	waiting waiting
	known   sync.Map // tenants whose tables this process has found
}

// Summed says which tables there are besides readings.
type Summed struct {
	Rollups []schema.Window
	Reports []schema.Window // of those
	By      []schema.By     // groups of reports
}

// Kinds of tables besides readings.
const (
	rollupsKind = "rollups"
	reportsKind = "reports"
)

// readingsColumns are those of tables of readings, beside the columns of sensors.
func readingsColumns() []delta.Column {
	return []delta.Column{{Name: columnar.Device, Type: delta.Text}, {Name: columnar.Time, Type: delta.Moment},
		{Name: columnar.Key, Type: delta.Text}, {Name: columnar.Doubtful, Type: delta.Boolean, Nullable: true},
		{Name: "date", Type: delta.Date}}
}

// Clean makes checkpoints of a tenant's tables where they are due, and deletes what the tables no longer need: blobs
// of files that left a day ago or were never committed, and what of their logs is older than a week. It reports
// whether something is left to be deleted later.
func (m *Tables) Clean(ctx context.Context, tenant schema.Tenant) (left bool, err error) {
	all, err := m.Catalog.Tables(ctx, tenant)
	for _, t := range all {
		unclean, err := m.clean(ctx, t)
		if left = left || unclean; err != nil && !errors.Is(err, catalog.ErrAbsent) {
			return left, err
		}
	}
	return left, err
}

func (m *Tables) clean(ctx context.Context, t *catalog.Table) (left bool, err error) {
	if err := t.Log(m.Store).Checkpoint(ctx, false); err != nil {
		return false, err
	}
	cleaner, kept := t.Cleaner(m.Store), m.kept(t)
	if err := cleaner.Clean(ctx, kept); err != nil {
		return false, err
	}
	if err := cleaner.CleanLog(ctx, max(keptLog, kept)); err != nil {
		return false, err
	}
	return cleaner.Unclean(ctx)
}

// kept returns how long earlier versions of a table can be read. Those of reports can as long as reports are kept:
// what an invoice said is there to be read again.
func (m *Tables) kept(t *catalog.Table) time.Duration {
	kind, w, _ := sumsOf(t)
	if kind != reportsKind {
		return m.KeepVersions
	}
	var keep []retain.Keep
	if m.Source != nil {
		keep = m.Source.Keep
	}
	if k := retain.KeepOfTenant(keep, t.Tenant); k != nil && k.Reports[w] > 0 {
		return max(m.KeepVersions, k.Reports[w])
	}
	return forever
}

const forever = 200 * 365 * 24 * time.Hour

// keptLog is how long versions of tables can be read after there is a checkpoint above them.
const keptLog = 7 * 24 * time.Hour

// MakeDay makes what a tenant's tables have of a day, or its readings of an hour, and publishes it. It reads the rows
// of some devices, or of all if none is named, from storage. Of others, and of those whose rows retention may have
// deleted, it takes over what the table has. Where there is the day in the form of an earlier release, it takes over
// the readings that storage lacks, and deletes that. Repeated, by anybody and at any time, it does what is left.
func (m *Tables) MakeDay(ctx context.Context, of TableDay, asked ...schema.DeviceID) error {
	if err := m.create(ctx, of.Tenant); err != nil && !errors.Is(err, catalog.ErrForeign) {
		return of.wrap(err)
	}
	changed, beside := false, true
	err := again(ctx, func() (err error) {
		if changed, err = m.tryDay(ctx, of, asked, beside); errors.Is(err, errOtherCells) {
			beside, err = false, fmt.Errorf("%w: %w", catalog.ErrStale, err)
		}
		return err
	})
	if changed {
		err = errors.Join(err, m.markClean(ctx, of))
	}
	if err == nil {
		err = m.publish(ctx, of.Tenant)
	}
	return of.wrap(err)
}

// again does something until nobody has been faster.
func again(ctx context.Context, once func() error) error {
	return commit.RetryIf(ctx, commit.Tries, func(err error) bool { return errors.Is(err, catalog.ErrStale) }, once)
}

// tryDay reports whether the tables have changed, or may have. Beside says that late rows may come into files of their
// own.
func (m *Tables) tryDay(ctx context.Context, of TableDay, asked []schema.DeviceID, beside bool) (changed bool,
	err error) {
	g, err := m.begin(ctx, of)
	if err != nil {
		return false, err
	}
	d := g.snapshot.Day(of.Month)
	if of.Hour > 0 && d.Watermark > 0 {
		return false, nil // there is the whole day
	}
	g.asked = slices.Sorted(slices.Values(asked))
	g.replaceAll()
	if of.Hour == 0 {
		if g.older, err = m.older.read(ctx, m, of); err != nil {
			return false, err
		}
	}
	if beside {
		if err := g.leave(ctx, d); err != nil {
			return false, err
		}
	}
	if many := g.crowded(); len(many) > 0 {
		if err := m.join(ctx, of, many); err != nil {
			return false, err
		}
		_, err = m.tryDay(ctx, of, asked, beside)
		return true, err
	}
	return g.make(ctx)
}
