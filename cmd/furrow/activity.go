package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/query"
)

func activityCommand() *cli.Command {
	return &cli.Command{
		Name:  "activity",
		Usage: "Show who did what",
		Description: `Lists what people did by commands and from pages of the dashboard, the newest first. An act is recorded before
it begins, and is not done if the log cannot be written. One without an outcome is under way, or the process
that did it died, or the log could not be written afterwards, which the command or page said. Commands that
only read, simulate and dry runs are not recorded.` + examples(
			"activity", "activity --tenant contoso --from -30d --json"),
		Flags: append(storageFlags(),
			&cli.StringFlag{Name: "tenant", DefaultText: "all", Usage: "Only acts about `TENANT`"},
			&cli.StringFlag{Name: "from", DefaultText: "a week before --to",
				Usage: "`TIME` of the oldest act: 2026-11-20T08:00:00Z, 2026-11-20, or " +
					"-36h for 36 hours ago"},
			&cli.StringFlag{Name: "to", DefaultText: "now", Usage: "`TIME` before which the newest act began"},
			listFlags()[0], listFlags()[1]),
		Action: activity,
	}
}

func activity(c *cli.Context) error {
	span, err := spanOf(c, c.String("from"), c.String("to"), 7*24*time.Hour)
	if err != nil {
		return err
	}
	if !c.IsSet("to") {
		span.To = span.To.Add(time.Minute) // the clock of whoever acted may be ahead
	}
	tenant, err := parsed(c, "tenant", schema.ParseTenant)
	if err != nil {
		return err
	}
	s, err := openStorage(c)
	if err != nil {
		return err
	}
	acts := access.NewLog(s.Tables, s.Names).Acts(c.Context, tenant, span.From.Time(), span.To.Time())
	return answer(c, query.Mapped(acts, answers.ActOf), func() (string, error) { return "no act in this time", nil })
}

// commandActor is who runs a command.
func commandActor() admin.Actor { return admin.Actor{Name: operator(), From: admin.FromCommand} }

// recorded does an act of a command, and records it.
func (s *stores) recorded(
	ctx context.Context, act schema.Act, do func(context.Context) (outcome string, err error),
) error {
	return s.acts().Do(ctx, commandActor(), act, do)
}

// undone reports whether an error of recorded means that the act was not done, or not completely.
func undone(err error) bool { return err != nil && !errors.Is(err, access.ErrNoOutcome) }

// printAct prints what an act has done, as printLine does, unless err, which recorded returned, says that it was not
// done.
func printAct(c *cli.Context, err error, line any, text string) error {
	if undone(err) {
		return err
	}
	return errors.Join(printLine(c, line, text), err)
}

// acts returns the fleet for acts on devices.
func (s *stores) acts() admin.Fleet {
	return admin.Fleet{Tables: s.Tables, Names: s.Names, Policies: s.policies(), Enrollments: s.enrollments()}
}
