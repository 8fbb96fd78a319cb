package main

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/generations"
	"furrow/worker/query"
)

func configHistoryCommand() *cli.Command {
	return &cli.Command{
		Name:        "history",
		Usage:       "List all generations: when and by whom they were stored, and what they changed",
		Description: examples("config history", "config history --json"),
		Flags:       append(storageFlags(), listFlags()...),
		Action:      configHistory,
	}
}

func configHistory(c *cli.Context) error {
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	all, err := s.Generations().History(c.Context)
	return answer(c, query.Mapped(query.Records(all, err), lineOf), func() (string, error) {
		return "no configuration is stored yet: 'furrow up', 'furrow schedule' or 'furrow config apply' stores one", nil
	})
}

func configDiffCommand() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "Compare two generations, or a generation and a file",
		ArgsUsage: "[GENERATION|FILE [GENERATION|FILE]]",
		Description: `Without arguments it compares the current generation with the one before it. With one argument it compares a
generation, or a FILE, with the current one.` + examples("config diff", "config diff site.yaml", "config diff 2 5"),
		Flags:  append(storageFlags(), jsonFlag()),
		Action: configDiff,
	}
}

// diffLine is a comparison of two configurations in JSON.
type diffLine struct {
	From string `json:"from"`
	To   string `json:"to"`
	Diff string `json:"diff"` // unified; empty if they are the same
}

func configDiff(c *cli.Context) error {
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	from, to, err := textsToCompare(c, s.Generations())
	if err != nil {
		return err
	}
	diff := udiff.Unified(from.title, to.title, from.text, to.text)
	if c.Bool("json") {
		return writeJSONLine(c.App.Writer, diffLine{from.title, to.title, diff})
	}
	_, err = fmt.Fprint(c.App.Writer, diff)
	return err
}

// textsToCompare returns the older and the newer text of a diff.
func textsToCompare(c *cli.Context, s generations.Store) (from, to shownText, err error) {
	named := func(argument string) (shownText, error) {
		if n, is := generationOf(argument); is {
			return generationText(c.Context, s, n)
		}
		return fileText(argument)
	}
	if c.NArg() == 2 {
		if from, err = named(c.Args().First()); err != nil {
			return from, to, err
		}
		to, err = named(c.Args().Get(1))
		return from, to, err
	}
	head, found, err := s.Newest(c.Context, 0)
	if err != nil {
		return from, to, err
	}
	if !found {
		return from, to, fmt.Errorf("generation 1: %w", query.ErrNoGeneration)
	}
	holds := textOfGeneration(head)
	argument := c.Args().First()
	if n, is := generationOf(argument); is || argument == "" {
		if argument == "" {
			n = head.Generation - 1
		}
		from, err = generationText(c.Context, s, n)
		return from, holds, err
	}
	to, err = fileText(argument)
	return holds, to, err
}
