package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/backup"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/local"
	"furrow/tables/schema"
)

func restoreCommand() *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "Make a storage directory from a backup",
		ArgsUsage: "DIR",
		Description: `Copies the backup DIR to the directory of --storage, which must not exist or be empty, after it has compared each
file with the manifest. All tokens end: every stored access policy is replaced, because tokens that were
revoked after the backup would work again. Devices keep their keys and request new tokens. What was revoked
or removed after the backup is not known to it, and the command lists what to repeat. What a restore leaves that
was killed is removed by the next one in that folder. Then start furrow up:
everything that was acknowledged before the backup is there, and is folded as after a crash.` + examples(
			"restore /mnt/backups/2026-11-22",
			"restore /mnt/backups/2026-11-22 --storage /srv/fleet"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "storage", Value: defaultStorage, Usage: "Storage `DIRECTORY` to make"},
			jsonFlag()},
		Action: stoppable(restore),
	}
}

// restoredLine is what was restored, in JSON.
type restoredLine struct {
	backupLine
	Tables int `json:"tables"` // readings tables whose stored access policies were replaced
}

func restore(c *cli.Context) error {
	to, ended := c.String("storage"), 0
	if !setup.IsDirectory(to) {
		return usagef(c, "--storage takes the directory to make")
	}
	w, done := newLongWork(c), new(atomic.Int64)
	w.begin("copying the backup")
	whole, err := backup.Read(c.Args().First())
	if err != nil {
		return err
	}
	read := func(file io.Reader) io.Reader { return w.bytes(file, done, whole.Bytes()) }
	m, err := backup.Restore(c.Args().First(), to, read, func(dir string) (err error) {
		w.begin("ending the tokens of the backup")
		ended, err = endRestoredTokens(c.Context, dir, logFor(c))
		return err
	})
	if err != nil {
		return w.ended(err, "nothing is restored: run the same command again")
	}
	line := restoredLine{lineOfBackup(to, m), ended}
	return printLine(c, line, line.text())
}

func (l restoredLine) text() string {
	at := l.Taken.Format(time.RFC3339)
	text := fmt.Sprintf("Restored %s: %s.\n", l.Directory, l.size())
	if l.Tables > 0 {
		text += fmt.Sprintf("All tokens for %s ended; devices request new ones.\n", many(int64(l.Tables), "readings table"))
	}
	text += "The backup does not know what was done after " + at + `. Repeat what ended a right since then:
  furrow device revoke, device remove, device move
  furrow enrollment disable, enrollment rotate, enrollment set
  furrow access remove, access rotate
Programs may have read later versions of tables of the archive. Where there is one, for each tenant:
  furrow archive rewrite --tenant TENANT --log
`
	if !l.MasterKey {
		text += "The master key is not in the backup: start with --master-key-file.\n"
	}
	return text + "Start it:\n  furrow up --storage " + quoted(l.Directory) + "\n"
}

// endRestoredTokens replaces the stored access policies of all fleets in a directory that no process serves.
func endRestoredTokens(ctx context.Context, dir string, log *slog.Logger) (ended int, err error) {
	server, err := local.Start(local.Config{Dir: dir, Log: log})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	account, err := tables.ParseAccount(server.ConnectionString())
	if err != nil {
		return 0, err
	}
	client, err := tables.Connect(tables.Config{Account: account})
	if err != nil {
		return 0, err
	}
	all, err := client.Tables(ctx)
	if err != nil {
		return 0, err
	}
	for _, table := range all {
		prefix, ok := strings.CutSuffix(table, schema.Names{}.Policies())
		names, err := schema.ParseNames(prefix)
		if !ok || err != nil {
			continue // a table of another kind
		}
		n, err := (&sas.Policies{Client: client, Names: names, Log: log}).EndAllTokens(ctx)
		if ended += n; err != nil {
			return ended, fmt.Errorf("tokens of the backup: %w", err)
		}
	}
	return ended, nil
}
