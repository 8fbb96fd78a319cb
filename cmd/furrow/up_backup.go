package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/backup"
	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// checkBackups checks --backup-to.
func checkBackups(c *cli.Context) error {
	folder, dir := c.String("backup-to"), c.String("storage")
	switch {
	case folder == "":
		return nil
	case !setup.IsDirectory(dir):
		return usagef(c, "--backup-to is for a storage directory; furrow copy copies the tables of an account")
	}
	return checkOutside(c, "--backup-to", folder, dir)
}

// checkOutside returns an error for a backup within the storage directory.
func checkOutside(c *cli.Context, what, folder, dir string) error {
	inner, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	outer, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(outer, inner); err == nil && filepath.IsLocal(rel) {
		return usagef(c, "%s %s is in the storage directory: name a directory on another disk", what, folder)
	}
	return nil
}

// backups writes a backup every so often, and keeps the last few.
type backups struct {
	server  *local.Server
	storage string // directory
	folder  string // empty: there are none
	every   time.Duration
	keep    int
	log     *slog.Logger

	taken  prometheus.Gauge
	failed prometheus.Counter
}

func newBackups(c *cli.Context, server *local.Server, m *monitor.Monitor, log *slog.Logger) *backups {
	b := &backups{server: server, storage: c.String("storage"), folder: c.String("backup-to"),
		every: durationOf(c, "backup-every"), keep: c.Int("backup-keep"), log: log,
		taken: prometheus.NewGauge(prometheus.GaugeOpts{Name: "furrow_backup_taken_timestamp_seconds",
			Help: "When the newest complete backup of --backup-to was taken; 0 if there is none."}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{Name: "furrow_backup_failures_total",
			Help: "Backups that could not be written."})}
	m.MustRegister(b.taken, b.failed)
	return b
}

// retryBackup is the time until a backup that failed is tried again.
const retryBackup = 5 * time.Minute

// run writes backups until ctx ends. After a restart it goes on from the newest one that it finds.
func (b *backups) run(ctx context.Context) error {
	if b.folder == "" {
		return nil
	}
	for next := b.first(ctx); setup.Pause(ctx, time.Until(next)); {
		began := time.Now()
		m, err := b.one(ctx, began)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			b.failed.Inc()
			b.log.ErrorContext(ctx, "backup failed", "directory", b.folder, "error", err)
			next = time.Now().Add(min(b.every, retryBackup))
			continue
		}
		b.taken.Set(float64(m.Taken.Unix()))
		b.log.InfoContext(ctx, "backup written", "directory", filepath.Join(b.folder, backup.Name(began)),
			"files", len(m.Files), "bytes", m.Bytes(), "took", time.Since(began).Round(time.Millisecond))
		next = began.Add(b.every)
	}
	return nil
}

// first returns when the first backup is due: at once, if there is none but those of a clock that was ahead.
func (b *backups) first(ctx context.Context) time.Time {
	now := time.Now()
	all, _, err := backup.List(b.folder, now)
	if err != nil {
		b.log.WarnContext(ctx, "backups not found", "directory", b.folder, "error", err)
	}
	if len(all) == 0 || all[len(all)-1].After(now) {
		return now
	}
	last := all[len(all)-1]
	b.taken.Set(float64(last.Unix()))
	return last.Add(b.every)
}

// one writes a backup, and removes old ones, and what killed processes left.
func (b *backups) one(ctx context.Context, at time.Time) (m backup.Manifest, err error) {
	if err := backup.Prune(b.folder, b.keep, at); err != nil {
		return m, err
	}
	from := streamBackup(ctx, b.server)
	m, err = backup.Take(filepath.Join(b.folder, backup.Name(at)), from, b.storage, ownFiles())
	if err = errors.Join(err, from.Close()); err != nil {
		return m, err
	}
	return m, backup.Prune(b.folder, b.keep, at)
}
