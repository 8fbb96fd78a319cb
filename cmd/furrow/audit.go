package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/refold"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name:  "audit",
		Usage: "Find and fold readings that arrived late",
		Subcommands: []*cli.Command{{
			Name:  "run",
			Usage: "Audit every device now",
			Description: `A reading is late if storage accepts it after its device has been folded further, so that no run reads it.
Audits find late readings by comparing the number of readings in storage with the number folded, and fold
them. They run by themselves; this command audits every device now, as far back as its tokens admit
readings. Workers do the work; furrow status and --wait show the results. Days that no token admits any more are
counted for the last time only where runs in six hours of a day show that no clock has jumped.` + examples("audit run", "audit run --pipeline live --wait"),
			Flags: append(fleetFlags(),
				boolFlag("wait", "Wait until the audits are done, and print the results"),
				jsonFlag()),
			Action: runAudit,
		}},
	}
}

// auditLine is an audit of a pipeline in JSON.
type auditLine struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Run      time.Time       `json:"run"` // time that identifies the run in furrow status
	Done     bool            `json:"done"`
	Audits   int64           `json:"audits"`   // messages
	Devices  int64           `json:"devices"`  // audited; each counts once
	Late     int64           `json:"late"`     // late readings that were found and folded
	Refolded int64           `json:"refolded"` // times that days of a device were folded again; a device may have several
	Missing  int64           `json:"missing"`  // readings that were folded once and are missing from storage
	Failed   int64           `json:"failed"`   // devices
	Seconds  float64         `json:"seconds"`
}

func runAudit(c *cli.Context) error {
	f, s, err := openFleet(c)
	if err != nil {
		return err
	}
	began := time.Now()
	run := tables.TicksOf(began)
	f.Pipelines = slices.DeleteFunc(slices.Clone(f.Pipelines), config.Pipeline.Retains)
	for _, p := range f.Pipelines {
		m := jobs.Message{Kind: jobs.Master, Audit: refold.Full, Pipeline: p.Name, Run: run, Generation: f.Generation}
		act := schema.Act{What: "audit run", Detail: "pipeline " + string(p.Name)}
		if err := s.enqueue(c.Context, act, m); err != nil {
			return err
		}
		if !c.Bool("wait") && !c.Bool("json") {
			fmt.Fprintf(c.App.Writer, "%s: workers audit every device now, as run %s; furrow status --pipeline %s shows the "+
				"results\n", p.Name, run.Time().Format(time.RFC3339), p.Name)
		}
	}
	failed := int64(0)
	for _, p := range f.Pipelines {
		line := auditLine{Pipeline: p.Name, Run: run.Time()}
		if c.Bool("wait") {
			if line, err = awaitAudit(c, f, p, run); err != nil {
				return err
			}
			line.Seconds = time.Since(began).Seconds()
		}
		failed += line.Failed
		switch {
		case c.Bool("json"):
			err = writeJSONLine(c.App.Writer, line)
		case c.Bool("wait"):
			_, err = fmt.Fprintln(c.App.Writer, line.text())
		}
		if err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s could not be audited: furrow device held lists devices that keep failing",
			many(failed, "device"))
	}
	return nil
}

// enqueue asks the workers of a pipeline for a run, and records that.
func (s *stores) enqueue(ctx context.Context, act schema.Act, m jobs.Message) error {
	err := s.recorded(ctx, act, func(ctx context.Context) (string, error) {
		return "enqueued", s.Queues.Queue(s.Names, m.Pipeline).Put(ctx, m, 0)
	})
	if errors.Is(err, worker.ErrNoQueue) {
		return fmt.Errorf("pipeline %s has no queue yet: furrow up or furrow schedule creates it", m.Pipeline)
	}
	return err
}

func (l auditLine) text() string {
	took := time.Duration(l.Seconds * float64(time.Second)).Round(100 * time.Millisecond)
	text := fmt.Sprintf("%s: %s audited in %s: %s found and folded, in %s", l.Pipeline, many(l.Devices, "device"),
		short(took), many(l.Late, "late reading"), many(l.Refolded, "refold"))
	if l.Missing > 0 {
		text += "; missing from storage although folded before: " + many(l.Missing, "reading")
	}
	return text
}

// Intervals of awaitAudit.
const (
	auditPoll   = 500 * time.Millisecond
	auditReport = 10 * time.Second
	auditStill  = 30 * time.Second // without progress: a killed worker does not report
)

// uncounted returns how many devices of the audits of a run no worker has counted. Counts and the messages that a job
// has put are written together: where those of a killed worker are missing, nobody knows how many messages are left.
func uncounted(r worker.RunFigures) int64 {
	m := r.Months
	return max(0, m.Devices-m.Held-m.Failing-m.Newer-r.Workers.Audited)
}

// awaitAudit waits until the figures of a run say that its audits are done. If a worker died, its figures are
// missing; then it waits until the queues are empty.
func awaitAudit(c *cli.Context, f *roles.Fleet, p config.Pipeline, run tables.Ticks) (auditLine, error) {
	told, moved, last := time.Now(), time.Now(), int64(-1)
	for {
		figures, err := f.Runs().Figures(c.Context, p.Name, run)
		if err != nil && !errors.Is(err, tables.ErrNoTable) {
			return auditLine{}, err
		}
		put, done := figures.Audits()
		if now := figures.Workers.Audited + put + done; now != last {
			moved, last = time.Now(), now
		}
		missing := uncounted(figures)
		over := figures.Audited() && missing == 0
		if !over && put > 0 && time.Since(moved) > auditStill {
			if over, err = nothingQueued(c.Context, f.Queue(p)); err != nil {
				return auditLine{}, err
			}
		}
		if over {
			if missing > 0 {
				fmt.Fprintf(c.App.ErrWriter, "%s: the counts of %s are missing: a worker was killed, or messages were given up\n",
					p.Name, many(missing, "device"))
			}
			w := figures.Workers
			return auditLine{Pipeline: p.Name, Run: run.Time(), Done: true, Audits: done, Devices: w.Audited, Late: w.Late,
				Refolded: w.Refolded, Missing: w.Missing, Failed: w.Failed}, nil
		}
		if time.Since(told) > auditReport {
			told = time.Now()
			fmt.Fprintf(c.App.ErrWriter, "%s: %s\n", p.Name, auditProgress(figures, p.Cadence))
		}
		if !setup.Pause(c.Context, auditPoll) {
			return auditLine{}, errors.New("stopped waiting; the audits continue: see furrow status")
		}
	}
}

// auditProgress says how far the audits of a run are, and what it waits for. A worker writes what it does in a run
// before its first job has ended.
func auditProgress(figures worker.RunFigures, cadence time.Duration) string {
	put, done := figures.Audits()
	switch {
	case put > 0:
		return fmt.Sprintf("%d of %d audit messages are done", done, put)
	case len(figures.Workers.Operations) > 0:
		return "a worker plans the audits"
	}
	return fmt.Sprintf("no worker has begun yet. An idle one looks every %s: is one running? See furrow status",
		short(worker.IdlePause(cadence)))
}

func nothingQueued(ctx context.Context, q *worker.Queue) (bool, error) {
	live, err := q.Depth(ctx)
	if err != nil || live > 0 {
		return false, err
	}
	history, err := q.CatchupDepth(ctx)
	return history == 0, err
}
