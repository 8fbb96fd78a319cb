package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/tables/schema"
)

// A generationLine is a generation in JSON.
type generationLine struct {
	Generation int64  `json:"generation" column:"generation"`
	Stored     string `json:"stored" column:"stored"` // time, by storage's clock
	By         string `json:"by" column:"by"`
	Change     string `json:"change" column:"change"`
	Hash       string `json:"hash"` // SHA-256 of the text
}

func lineOf(c schema.Configuration) generationLine {
	return generationLine{c.Generation, timeOf(c), c.By, c.Change, c.Hash}
}

// A changeLine is the result of apply or rollback in JSON.
type changeLine struct {
	generationLine
	New bool `json:"new"` // false: the current generation has this content already
}

func configApplyCommand() *cli.Command {
	return &cli.Command{
		Name:      "apply",
		Usage:     "Check a file and store it as the new generation",
		ArgsUsage: "FILE",
		Description: `Stores nothing if the current generation has this content already, or if somebody else stores another one at
the same time. Running processes follow within about 10 seconds, without a restart. If a change affects the
results of processors, the outputs of all history are replaced in the background.

To upgrade a fleet, restart its processes with the new version one after the other: both versions work side
by side, and you can go back. Then apply the configuration again with the new version: from then on workers
write the newest format, which an older version cannot read. It is refused while an older worker or
scheduler runs.` + examples("config apply site.yaml", "config apply site.yaml --storage env:AZURE_STORAGE_CONNECTION_STRING --json"),
		Flags:  append(storageFlags(), jsonFlag()),
		Action: configApply,
	}
}

func configApply(c *cli.Context) error {
	file, err := config.Open(c.Args().First())
	if err != nil {
		return err
	}
	if err := file.Check(); err != nil {
		if problems, ok := errors.AsType[config.Problems](err); ok {
			return reportProblems(c, problems)
		}
		return err
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	return changeConfig(c, s, schema.Act{What: "config apply", Detail: file.Name},
		func(ctx context.Context) (generations.Change, error) {
			return s.Generations().Apply(ctx, file.Name, file.Text, operator())
		})
}

func configRollbackCommand() *cli.Command {
	return &cli.Command{
		Name:      "rollback",
		Usage:     "Store the content of an earlier generation as the new one",
		ArgsUsage: "GENERATION",
		Description: "The history keeps all generations, so a rollback can be rolled back." +
			examples("config rollback 3"),
		Flags:  append(storageFlags(), jsonFlag()),
		Action: configRollback,
	}
}

func configRollback(c *cli.Context) error {
	n, is := generationOf(c.Args().First())
	if !is {
		return usagef(c, "name the GENERATION to go back to; 'furrow config history' lists them")
	}
	s, err := openFleetStorage(c)
	if err != nil {
		return err
	}
	return changeConfig(c, s, schema.Act{What: "config rollback", Detail: fmt.Sprint("generation ", n)},
		func(ctx context.Context) (generations.Change, error) {
			return s.Generations().Rollback(ctx, n, operator())
		})
}

// changeConfig stores a configuration, records that, and reports it.
func changeConfig(
	c *cli.Context, s *stores, act schema.Act, change func(context.Context) (generations.Change, error),
) error {
	var done generations.Change
	err := s.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
		if done, err = change(ctx); !done.Stored {
			return "it was current already", err
		}
		return fmt.Sprintf("generation %d", done.Holds.Generation), err
	})
	holds := done.Holds
	text := fmt.Sprintf("generation %d is current, and has this content already", holds.Generation)
	if done.Stored {
		text = fmt.Sprintf("generation %d is stored: %s\nRunning processes follow within about 10 seconds.", holds.Generation,
			holds.Change)
	}
	return printAct(c, err, changeLine{lineOf(holds), done.Stored}, text)
}
