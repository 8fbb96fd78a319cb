package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/backup"
	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

func backupCommand() *cli.Command {
	return &cli.Command{
		Name:      "backup",
		Usage:     "Write a backup of a storage directory while it is served",
		ArgsUsage: "DIR",
		Description: `Writes everything that embedded storage has acknowledged to a new directory DIR, while furrow up or furrow storage
serves it and devices go on; if nothing serves it, it opens the storage directory itself. The backup contains
the account's key, and the master key and the certificates if they are in the storage directory: protect it
like that. It is complete when its manifest.json exists, which has the hash of each file and is written last;
what an interrupted command leaves is no backup, and furrow restore refuses it. furrow up --backup-to writes
one every few hours. Storage that another machine serves sends its backup here, without the master key.` + examples(
			"backup /mnt/backups/2026-11-22",
			"backup /mnt/backups/2026-11-22 --storage /srv/fleet --json"),
		Flags:  append(storageFlags(), jsonFlag()),
		Action: stoppable(takeBackup),
	}
}

// backupLine is a backup in JSON.
type backupLine struct {
	Directory string    `json:"directory"`
	Taken     time.Time `json:"taken"` // it has everything that was acknowledged before
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"`
	MasterKey bool      `json:"masterKey"` // whether the master key is in it
}

func lineOfBackup(dir string, m backup.Manifest) backupLine {
	return backupLine{Directory: dir, Taken: m.Taken, Files: len(m.Files), Bytes: m.Bytes(),
		MasterKey: m.Has(setup.MasterFile)}
}

// size describes what is in a backup.
func (l backupLine) size() string {
	return fmt.Sprintf("%s, %s, as of %s", many(int64(l.Files), "file"), humanize.IBytes(uint64(l.Bytes)),
		l.Taken.Format(time.RFC3339))
}

func takeBackup(c *cli.Context) (err error) {
	to, dir := c.Args().First(), storageDirectory(c)
	if dir != "" {
		if err := checkOutside(c, "DIR", to, dir); err != nil {
			return err
		}
	}
	from, err := openBackup(c)
	if err != nil {
		return err
	}
	defer setup.Closing(&err, from.Close)
	w := newLongWork(c)
	w.begin("writing the backup")
	m, err := backup.Take(to, w.bytes(from, new(atomic.Int64), sizeOf(dir)), dir, ownFiles())
	if err != nil {
		return w.ended(err, to+" is no backup, and nothing is left there: run the same command again")
	}
	line := lineOfBackup(to, m)
	text := fmt.Sprintf("Backup written to %s: %s.\n", to, line.size())
	if !line.MasterKey {
		text += "The master key is kept elsewhere, and only it opens the keys of enrollments: save it, too.\n"
	}
	return printLine(c, line, text)
}

// sizeOf returns how many bytes the files of a directory have, which is about the size of its backup. Zero: unknown.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it is about the size
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// ownFiles are what a storage directory has beside storage's own files, and a backup needs.
func ownFiles() []string { return []string{setup.MasterFile, setup.TLSFolder} }

// openBackup has storage write a backup: by the server of the directory or, if there is none, in this process.
func openBackup(c *cli.Context) (io.ReadCloser, error) {
	s, opened, err := openEmbedded(c)
	if err != nil {
		return nil, err
	}
	if opened != nil {
		from := streamBackup(c.Context, opened)
		return readCloser{from, func() error { return errors.Join(from.Close(), opened.Close()) }}, nil
	}
	from, err := local.FetchBackup(c.Context, s.HTTP, s.Account.Name, s.Account.Key, s.Account.Blob)
	if err != nil {
		return nil, fmt.Errorf("%w (only embedded storage writes backups)", err)
	}
	return from, nil
}

// streamBackup returns the backup of a server in this process. Closing it waits until the server has stopped writing.
func streamBackup(ctx context.Context, s *local.Server) io.ReadCloser {
	r, w := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.CloseWithError(s.Backup(ctx, w)) // nil is the end
	}()
	return readCloser{r, func() error {
		err := r.Close()
		<-ended
		return err
	}}
}

// A readCloser is a reader with a function that closes it.
type readCloser struct {
	io.Reader
	close func() error
}

func (r readCloser) Close() error { return r.close() }
