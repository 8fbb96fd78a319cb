package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/jobs"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

func notifyCommand() *cli.Command {
	return &cli.Command{
		Name:  "notify",
		Usage: "Show and test the targets of notifications, and retry what was given up",
		Description: `Workers notify the targets that the rules of the configuration name. 'furrow incident show' has what became of
the notifications of an incident.` + examples("notify list", "notify test ops"),
		Subcommands: []*cli.Command{{
			Name:        "list",
			Usage:       "List targets: what waits, arrived, failed and was given up",
			Description: examples("notify list", "notify list --json"),
			Flags:       append(fleetFlags(), listFlags()...),
			Action:      notifyList,
		}, {
			Name:  "test",
			Usage: "Send a test message to a target, from this machine",
			Description: "Shows the request, without secrets, and the answer. Files with secrets are read on this " +
				"machine." + examples("notify test ops", "notify test patient --to me@example.com"),
			ArgsUsage: "TARGET",
			Flags: append(fleetFlags(), &cli.StringFlag{Name: "to", Usage: "`ADDRESS` for a target whose addresses " +
				"are in labels of the devices"}, jsonFlag()),
			Action: notifyTest,
		}, {
			Name:  "redrive",
			Usage: "Deliver again what was given up, for one target or for all",
			Description: "What waits is tried at once, too. A target that is off, because it answered 410, is turned " +
				"on." + examples("notify redrive", "notify redrive ops"),
			ArgsUsage: "[TARGET]",
			Flags:     append(fleetFlags(), jsonFlag()),
			Action:    notifyRedrive,
		}},
	}
}

func notifyList(c *cli.Context) error {
	_, n, s, err := openNotifier(c)
	if err != nil {
		return err
	}
	states, err := s.reader().Progress().Targets(c.Context, n.Pipeline)
	if err != nil {
		return err
	}
	var lines []targetLine
	for i := range n.Targets {
		t := &n.Targets[i]
		line := targetLine{Target: t.Name}
		at := slices.IndexFunc(states, func(s schema.TargetState) bool { return s.Target == t.Name })
		if at >= 0 {
			line = targetLineOf(states[at])
			states = slices.Delete(states, at, at+1)
		}
		line.Kind, line.To = t.Kind.Name(), t.Kind.String()
		lines = append(lines, line)
	}
	for _, s := range states {
		line := targetLineOf(s)
		line.Kind = "removed"
		lines = append(lines, line)
	}
	return answer(c, query.Records(lines, nil), func() (string, error) { return "the configuration has no targets", nil })
}

// targetLine is a target in JSON. Counts are since the first notification, and may lack those of killed workers.
type targetLine struct {
	Target schema.Target `json:"target" column:"target"`
	// webhook, alertmanager, queue, smtp or removed; not in status
	Kind    string     `json:"kind,omitempty" column:"kind"`
	To      string     `json:"to,omitempty" column:"to"`       // not in status
	Waiting int64      `json:"waiting" column:"waiting"`       // deliveries after the last job
	Oldest  *time.Time `json:"oldest,omitempty"`               // when the oldest of them that is not muted was to be sent
	Sent    int64      `json:"sent" column:"sent"`             // deliveries that arrived
	Failed  int64      `json:"failed" column:"failed"`         // messages that did not, each time
	GivenUp int64      `json:"givenUp" column:"given up"`      // deliveries
	Last    *time.Time `json:"last,omitempty" column:"last"`   // when something arrived last
	Next    *time.Time `json:"next,omitempty" column:"next"`   // when what waits is tried next; absent while it is off
	Paused  *time.Time `json:"paused,omitempty"`               // nothing is sent until then, because too much failed
	Off     *time.Time `json:"off,omitempty"`                  // since when it is turned off, because it answered 410
	Error   string     `json:"error,omitempty" column:"error"` // of the last failure, until something arrives
}

func targetLineOf(s schema.TargetState) targetLine {
	line := targetLine{Target: s.Target, Waiting: s.Waiting, Sent: s.Sent, Failed: s.Failed, GivenUp: s.GivenUp,
		Last: ticksTime(s.Last), Error: s.Error}
	if s.Waiting > 0 {
		line.Oldest, line.Next = ticksTime(s.Oldest), ticksTime(s.Next)
	}
	if s.Off != "" {
		line.Off = ticksTime(s.OffAt)
	}
	if s.Pause.Time().After(time.Now()) {
		line.Paused = ticksTime(s.Pause)
	}
	return line
}

// targetsText describes the targets of a pipeline that something was for.
func (s pipelineStatus) targetsText() string {
	var all []string
	for _, t := range s.Targets {
		text := fmt.Sprintf("%s: %s sent, %s waiting", t.Target, grouped(t.Sent), grouped(t.Waiting))
		if t.Oldest != nil {
			text += fmt.Sprintf(" (the oldest for %s)", short(max(0, time.Since(*t.Oldest).Round(time.Second))))
		}
		if t.GivenUp > 0 {
			text += fmt.Sprintf(", %s given up", grouped(t.GivenUp))
		}
		if t.Off != nil {
			text += ", turned off"
		}
		if t.Error != "" {
			text += ", last failure: " + t.Error
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// openNotifier returns the notifier of the pipeline that evaluates rules.
func openNotifier(c *cli.Context) (*roles.Fleet, *notify.Notifier, *stores, error) {
	f, s, err := openFleet(c)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, p := range f.Pipelines {
		if !p.Watches() {
			continue
		}
		built, err := f.Jobs(p)
		if err != nil {
			return nil, nil, nil, err
		}
		return f, built.Notifier, s, nil
	}
	return f, &notify.Notifier{Client: s.Tables, Names: s.Names}, s, nil
}

// notifiedLine is a test of a target in JSON.
type notifiedLine struct {
	Target  schema.Target `json:"target"`
	Sent    bool          `json:"sent"`
	Request string        `json:"request"`          // without secrets
	Answer  string        `json:"answer,omitempty"` // of a receiver by HTTP: its status, and the beginning of its body
}

func notifyTest(c *cli.Context) error {
	_, n, _, err := openNotifier(c)
	if err != nil {
		return err
	}
	name := schema.Target(c.Args().First())
	seen, err := n.Test(c.Context, name, c.String("to"))
	if seen.Request == "" && err != nil {
		return fmt.Errorf("target %s: %w", name, err)
	}
	text := seen.Request
	if seen.Answer != "" {
		text += "\n\nanswered " + seen.Answer
	}
	if err != nil {
		err = fmt.Errorf("target %s: %w", name, err)
	} else {
		text += fmt.Sprintf("\n%s: the test message was accepted", name)
	}
	return errors.Join(printLine(c, notifiedLine{name, err == nil, seen.Request, seen.Answer}, text), err)
}

// redrivenLine is what was put back for a target, in JSON.
type redrivenLine struct {
	Target     schema.Target `json:"target"`
	Deliveries int           `json:"deliveries"`
}

func notifyRedrive(c *cli.Context) error {
	f, n, s, err := openNotifier(c)
	if err != nil {
		return err
	}
	var names []schema.Target
	for _, t := range n.Targets {
		if c.NArg() == 0 || string(t.Name) == c.Args().First() {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 && c.NArg() > 0 {
		return fmt.Errorf("the configuration has no target %q; 'furrow notify list' shows them", c.Args().First())
	}
	for _, name := range names {
		back := 0
		err := s.recorded(c.Context, schema.Act{What: "notify redrive", Detail: "target " + string(name)},
			func(ctx context.Context) (_ string, err error) {
				if back, err = n.Redrive(ctx, name); err == nil || back > 0 {
					err = errors.Join(err, deliverNow(ctx, f, n.Pipeline, name))
				}
				return many(int64(back), "notification"), err
			})
		text := fmt.Sprintf("%s: put back %s; what waits is tried now", name, many(int64(back), "notification"))
		if err := printAct(c, err, redrivenLine{name, back}, text); err != nil {
			return err
		}
	}
	return nil
}

// deliverNow asks the workers for a job for a target. Without a queue, there is no worker yet.
func deliverNow(ctx context.Context, f *roles.Fleet, p schema.Pipeline, target schema.Target) error {
	m := jobs.Message{Kind: jobs.Deliver, Pipeline: p, Run: tables.TicksOf(time.Now()), Generation: f.Generation,
		Target: target}
	if err := f.Queues.Queue(f.Names, p).Put(ctx, m, 0); !errors.Is(err, worker.ErrNoQueue) {
		return err
	}
	return nil
}
