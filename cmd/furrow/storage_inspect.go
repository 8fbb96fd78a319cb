package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

func storageStatsCommand() *cli.Command {
	return &cli.Command{
		Name:  "stats",
		Usage: "Show what each table, queue and container of embedded storage has",
		Description: `Counts rows, messages and blobs, and their bytes before compression. It reads the whole directory, while
furrow up or furrow storage serves it; if nothing serves it, it opens the directory itself.` + examples(
			"storage stats",
			"storage stats --storage /srv/fleet --json"),
		Flags:  inspectFlags(),
		Action: storageStats,
	}
}

func storageCheckCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "Verify a directory of embedded storage",
		Description: `Reads every record and the file of every large blob, by their checksums: each must be readable and
belong to something that exists. Files that an earlier furrow stored have none: of these it checks the length. It
changes nothing, and works while the directory is served. If it finds a problem, it exits with 1: restore the
newest backup without one (furrow help operations).` + examples(
			"storage check",
			"storage check --storage /srv/fleet"),
		Flags:  inspectFlags(),
		Action: storageCheck,
	}
}

func inspectFlags() []cli.Flag {
	return append(storageFlags(), &cli.StringFlag{Name: "data",
		Usage: "Storage `DIRECTORY`, as furrow storage takes it; the same as --storage DIRECTORY"}, jsonFlag())
}

func storageStats(c *cli.Context) error {
	found, err := inspect(c)
	if err != nil {
		return err
	}
	var text strings.Builder
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, kind := range []struct {
		name, rows string
		all        []local.Usage
	}{{"table", "rows", found.Tables}, {"queue", "messages", found.Queues}, {"container", "blobs", found.Containers}} {
		for i, u := range kind.all {
			if i == 0 {
				fmt.Fprintf(lines, "%s\tbytes\t  %s\n", kind.rows, kind.name)
			}
			fmt.Fprintf(lines, "%s\t%s\t  %s\n", grouped(u.Rows), humanize.IBytes(uint64(u.Bytes)), u.Name)
		}
	}
	_ = lines.Flush() // writes to memory
	fmt.Fprintf(&text, "\nThe database has %s on disk, compressed.\n", humanize.IBytes(found.Disk))
	return printLine(c, found, text.String())
}

func storageCheck(c *cli.Context) error {
	found, err := inspect(c)
	if err != nil {
		return err
	}
	if n := int64(len(found.Problems)) + found.More; n > 0 {
		err = fmt.Errorf("%s: restore the newest backup that has none", many(n, "problem"))
	}
	var text strings.Builder
	for _, p := range found.Problems {
		text.WriteString(p + "\n")
	}
	if err == nil {
		fmt.Fprintf(&text, "No problems: %s of %s, %s of %s, %s of %s.\n",
			many(allRows(found.Tables), "row"), many(int64(len(found.Tables)), "table"),
			many(allRows(found.Queues), "message"), many(int64(len(found.Queues)), "queue"),
			many(allRows(found.Containers), "blob"), many(int64(len(found.Containers)), "container"))
	}
	return errors.Join(err, printLine(c, found, text.String()))
}

func allRows(all []local.Usage) (rows int64) {
	for _, u := range all {
		rows += u.Rows
	}
	return rows
}

// inspect has the server of a storage directory inspect it or, if there is none, this process.
func inspect(c *cli.Context) (found local.Inspection, err error) {
	if dir := c.String("data"); dir != "" {
		if at := c.String("storage"); c.IsSet("storage") && at != dir && at != os.Getenv("FURROW_STORAGE") {
			return found, usagef(c, "--data and --storage mean the same, and name two directories")
		}
		if err := c.Set("storage", dir); err != nil {
			return found, err
		}
	}
	s, opened, err := openEmbedded(c)
	if err != nil {
		return found, err
	}
	if opened != nil {
		defer setup.Closing(&err, opened.Close)
		return opened.Inspect(c.Context)
	}
	found, err = local.FetchInspection(c.Context, s.HTTP, s.Account.Name, s.Account.Key, s.Account.Blob)
	if err != nil {
		return found, fmt.Errorf("%w (only embedded storage inspects itself)", err)
	}
	return found, nil
}

// openEmbedded returns clients of the process that serves embedded storage. A directory that none serves is opened.
func openEmbedded(c *cli.Context) (s *stores, opened *local.Server, err error) {
	s, err = openStorage(c)
	if dir := storageDirectory(c); errors.Is(err, setup.ErrNotServed) && dir != "" {
		opened, err = openDirectory(c, dir)
		return nil, opened, err
	}
	if err == nil && (s.Account.Blob == "" || s.Account.Key == "") {
		err = errors.New("this needs the key and the Blob endpoint of embedded storage: name its directory, or its " +
			"connection string")
	}
	return s, nil, err
}

// openDirectory opens a storage directory that no process serves.
func openDirectory(c *cli.Context, dir string) (*local.Server, error) {
	if _, err := os.Stat(filepath.Join(dir, local.KeyFile)); err != nil {
		return nil, fmt.Errorf("%s is not a storage directory: %w", dir, err)
	}
	if err := checkPrivate(dir); err != nil {
		return nil, err
	}
	server, err := local.Open(local.Config{Dir: dir, Log: logFor(c)})
	if err != nil {
		return nil, storageAdvice(err, "--storage", "--storage")
	}
	return server, nil
}
