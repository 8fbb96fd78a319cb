package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

func jobsCommand() *cli.Command {
	return &cli.Command{
		Name:  "jobs",
		Usage: "Inspect job queues and redrive poison messages",
		Subcommands: []*cli.Command{{
			Name:  "list",
			Usage: "List the messages in each queue, and the first poison messages",
			Description: "Shows up to 32 messages of each poison queue." +
				examples("jobs list", "jobs list --json"),
			Flags:  append(fleetFlags(), listFlags()...),
			Action: jobsList,
		}, {
			Name:        "redrive",
			Usage:       "Put poison messages back into their queues",
			Description: examples("jobs redrive", "jobs redrive --pipeline live --cause timeout"),
			Flags: append(fleetFlags(),
				&cli.StringFlag{Name: "cause", Usage: "Only messages whose cause contains `TEXT`"},
				jsonFlag()),
			Action: jobsRedrive,
		}, {
			Name:        "purge",
			Usage:       "Delete all poison messages",
			Description: examples("jobs purge --pipeline live --yes"),
			Flags: append(fleetFlags(), boolFlag("yes", "Confirm; purged messages cannot be restored"),
				jsonFlag()),
			Action: jobsPurge,
		}},
	}
}

// queueLine is the queue of a pipeline in JSON.
type queueLine struct {
	Pipeline schema.Pipeline   `json:"pipeline"`
	Queue    string            `json:"queue" column:"queue"`
	Messages int               `json:"messages" column:"messages"`
	Catchup  int               `json:"catchup" column:"catchup"`
	Poison   int               `json:"poison" column:"poison"`
	First    []worker.Poisoned `json:"first,omitempty" each:"message"`
}

func jobsList(c *cli.Context) error {
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	var lines []queueLine
	for _, p := range f.Pipelines {
		queue := f.Queue(p)
		line := queueLine{Pipeline: p.Name, Queue: queue.Name()}
		for _, part := range []struct {
			to    *int
			depth func(context.Context) (int, error)
		}{{&line.Messages, queue.Depth}, {&line.Catchup, queue.CatchupDepth}, {&line.Poison, queue.PoisonDepth}} {
			if *part.to, err = query.OrNone(part.depth(c.Context)); err != nil {
				return err
			}
		}
		if line.Poison > 0 {
			if line.First, err = queue.Poisoned(c.Context); err != nil {
				return err
			}
		}
		lines = append(lines, line)
	}
	return answer(c, query.Records(lines, nil), func() (string, error) { return "no pipelines", nil })
}

// messagesLine is what was done with the poison messages of a pipeline, in JSON.
type messagesLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Messages int             `json:"messages"` // put back, or about as many as deleted
}

func jobsRedrive(c *cli.Context) error {
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	acts := s.acts()
	for _, p := range f.Pipelines {
		pipeline, err := f.ActingOn(p)
		if err != nil {
			return err
		}
		n, err := acts.Redrive(c.Context, commandActor(), pipeline, c.String("cause"))
		text := fmt.Sprintf("%s: put back %s", p.Name, many(int64(n), "message"))
		if err := printAct(c, err, messagesLine{p.Name, n}, text); err != nil {
			return err
		}
	}
	return nil
}

func jobsPurge(c *cli.Context) error {
	if !c.Bool("yes") {
		return usagef(c, "purged messages cannot be restored: furrow jobs list shows them, furrow jobs redrive retries "+
			"them. Confirm with --yes")
	}
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	for _, p := range f.Pipelines {
		act := schema.Act{What: "jobs purge", Detail: "pipeline " + string(p.Name)}
		n, deleted := 0, ""
		err := s.recorded(c.Context, act, func(ctx context.Context) (_ string, err error) {
			n, err = query.OrNone(f.Queue(p).Purge(ctx))
			deleted = "deleted about " + many(int64(n), "message")
			return deleted, err
		})
		if err := printAct(c, err, messagesLine{p.Name, n}, string(p.Name)+": "+deleted); err != nil {
			return err
		}
	}
	return nil
}
