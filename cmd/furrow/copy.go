package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/copying"
	"furrow/jobs/archive"
)

func copyCommand() *cli.Command {
	return &cli.Command{
		Name:      "copy",
		Usage:     "Copy a fleet to another storage account while it lives",
		ArgsUsage: "FROM TO",
		Description: `Makes the tables and the archive of a fleet in TO equal to those in FROM: tracking rows first, then the archive,
outputs, readings and records. FROM and TO are what --storage takes: served directories, env:NAME or file:NAME
for connection strings. Devices go on writing to FROM and workers folding there. It compares row by row, and the
archive object by object, and writes what differs, so stop it at any time, and run it again: the second time
takes a fraction. No program works on TO until the copy is finished. A TO that has a fleet already, or anything
else in a table or container with one of its names, is refused.

To finish, stop the schedulers and workers of FROM, while its tables stay served, and run it with --finish. It
copies until both are equal, and lets programs work on TO: start them there, with the same master key, and
have devices reach that endpoint. Meanwhile it goes on to insert readings that devices still write to FROM,
until the last token for FROM has ended.` + examples(
			"copy ./furrow-data env:AZURE_STORAGE_CONNECTION_STRING",
			"copy ./furrow-data env:AZURE_STORAGE_CONNECTION_STRING --finish"),
		Flags: []cli.Flag{namesPrefixFlag(), caFlag(),
			boolFlag("finish", "Finish the copy: schedulers and workers of FROM are stopped"),
			jsonFlag(), verboseFlag()},
		Action: stoppable(copyFleet),
	}
}

// copiedLine is what a copy did with a table, in JSON.
type copiedLine struct {
	copying.Pass
	Finished bool `json:"finished,omitempty"` // readings that came after the copy was finished
}

func copyFleet(c *cli.Context) error {
	job, err := openCopy(c)
	if err != nil {
		return err
	}
	w := newLongWork(c)
	job.Progress = func(p copying.Pass, number, of int) {
		w.reached(fmt.Sprintf("%s, %d of %d: %s compared, %s written", p.Table, number, of, w.speed(p.Rows, "row"),
			grouped(p.Written)))
	}
	if w.begin("copying table"); !c.Bool("finish") {
		all, err := job.Once(c.Context)
		if err == nil {
			err = printPasses(c, all, "Run it again to copy what has changed since, or with --finish.")
		}
		return w.ended(err, copyAgain)
	}
	done, err := job.Finished(c.Context)
	if err != nil {
		return err
	}
	if !done {
		all, err := job.Finish(c.Context)
		if err == nil {
			err = printPasses(c, all, "Both are equal. Start schedulers, workers and endpoint on TO now; "+
				"readings that still come to FROM follow.")
		}
		if err != nil {
			return w.ended(err, copyAgain)
		}
	}
	w.begin("inserting readings that still come to FROM")
	n, err := job.Follow(c.Context)
	text := many(n, "reading") + " followed."
	if err == nil {
		text += "\nThe last token for FROM has ended: it can be removed."
	}
	line := copiedLine{copying.Pass{Table: job.Names.Readings(), Written: n}, true}
	return w.ended(errors.Join(printLine(c, line, text), err), copyAgain)
}

// copyAgain says how a copy goes on that was told to stop.
const copyAgain = "what is written stays: run the same command again to continue"

// followPause is the time between two passes of readings after a copy is finished.
const followPause = time.Minute

func openCopy(c *cli.Context) (*copying.Copy, error) {
	from, err := openStorageAt(c, nil, c.Args().Get(0), "FROM")
	if err != nil {
		return nil, err
	}
	to, err := openStorageAt(c, nil, c.Args().Get(1), "TO")
	if err != nil {
		return nil, err
	}
	job := &copying.Copy{From: from.Tables, To: to.Tables, Names: from.Names, Source: copySource(from), Log: logFor(c),
		Pause: followPause}
	for to, clients := range map[**archive.Store]*stores{&job.FromArchive: from, &job.ToArchive: to} {
		if *to, err = clients.Objects(); err != nil {
			return nil, err
		}
	}
	return job, nil
}

// copySource names the source of a copy. Embedded accounts share a name, and have keys of their own.
func copySource(s *stores) string {
	name := s.Account.Name
	if s.Account.PathStyle() {
		sum := sha256.Sum256([]byte(s.Account.Key))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name + "/" + s.Names.Readings()
}

// printPasses prints what was done for each table, and what comes next.
func printPasses(c *cli.Context, all []copying.Pass, next string) error {
	var rows, written, deleted int64
	for _, p := range all {
		if c.Bool("json") {
			if err := writeJSONLine(c.App.Writer, copiedLine{Pass: p}); err != nil {
				return err
			}
		}
		rows, written, deleted = rows+p.Rows, written+p.Written, deleted+p.Deleted
	}
	if c.Bool("json") || len(all) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s in %s: %s written, %d deleted. %s\n", many(rows, "row"),
		many(int64(len(all)), "table"), grouped(written), deleted, next)
	return err
}
