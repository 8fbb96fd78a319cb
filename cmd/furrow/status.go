package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/budget"
	"furrow/worker/limits"
	"furrow/worker/query"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "Show pipeline health: lag, runs, queues, held devices",
		Description: `Lag is the age of the last completed run: older readings are folded. Devices, claims and refolds are those
that the last run counted when it planned. Rows, rejects and late rows include what workers have reported since
then, every few seconds. The command warns when the fleet needs 70 % of a limit of storage (furrow help
limits). Where nothing states how often devices send, it proposes what a few of them tell. It takes a few requests
for each pipeline, and at most 50 for these devices, whatever the size of the fleet; with --tenants one more for
each thousand devices.` + examples("status", "status --pipeline live --json",
			"status --tenants"),
		Flags: append(append(accountsFlags(), pipelineFlags()...),
			boolFlag("tenants", "Also count the devices of each tenant: far behind, failing, held"), jsonFlag()),
		Action: showStatus,
	}
}

// pipelineStatus is the status of a pipeline in JSON.
type pipelineStatus struct {
	Storage        string          `json:"storage,omitempty"` // of several
	Pipeline       schema.Pipeline `json:"pipeline"`
	CadenceSeconds float64         `json:"cadenceSeconds"`
	LagSeconds     *float64        `json:"lagSeconds"`  // null if no run is done
	NextSeconds    *float64        `json:"nextSeconds"` // until the next run; null if no scheduler has run lately
	Devices        int64           `json:"devices"`
	Behind         int64           `json:"behind"`
	BehindSeconds  float64         `json:"behindSeconds"` // age of the oldest checkpoint of the devices behind
	// devices that a job had claimed and not committed when the last run planned
	Claimed        int64    `json:"claimed"`
	Resting        int64    `json:"resting"`        // the last run needed not look at them
	PlannedSeconds *float64 `json:"plannedSeconds"` // since the last run planned; null if none has
	Held           int64    `json:"held"`
	Failing        int64    `json:"failing"`
	Newer          int64    `json:"newer"`      // devices that only a newer version of furrow can fold
	Unreadable     int64    `json:"unreadable"` // rows of runs that this version cannot read
	Rows           int64    `json:"rows"`
	Rejects        int64    `json:"rejects"`
	RejectsDropped int64    `json:"rejectsDropped"` // rejects that are no longer kept
	Late           int64    `json:"late"`
	Refolds        int64    `json:"refolds"`
	// devices with a watermark in the future: a clock was ahead, and nothing new of theirs is folded
	Ahead          int64   `json:"ahead"`
	Waiting        int64   `json:"waiting"`        // days of the archive, or of reports, that are to be made
	WaitingSeconds float64 `json:"waitingSeconds"` // since the first of these is to be made
	// the archive waits until furrow config apply was given with this release
	NeedsApply        bool    `json:"needsApply,omitempty"`
	ClockAheadSeconds float64 `json:"clockAheadSeconds"` // this machine's against storage's; 0: by less than a minute
	// slot of the last run that enqueued due audits; null if none has
	Audited *time.Time `json:"audited"`
	Queue   int        `json:"queue"`
	Catchup int        `json:"catchup"`
	Poison  int        `json:"poison"`
	// targets of notifications that something was for
	Targets []targetLine `json:"targets,omitempty"`
	// enrollments for which audits of the last day have found rows that no token admitted
	Unheard []query.Unheard `json:"unheard,omitempty"`
	// with --tenants
	Tenants []query.TenantStatus `json:"tenants,omitempty"`
	// limits of storage: of the pipeline, and of what all pipelines share, which is the same in each line
	Limits []limits.Limit `json:"limits"`
	// of all pipelines of the storage, the same in each line; absent if the configuration has none
	Budget *budget.Budget `json:"budget,omitempty"`
	Runs   []runStatus    `json:"runs"`
	// how often devices send that state nothing, as some of them tell; the same in each line
	Proposals []query.Interval `json:"proposals,omitempty"`
	// the embedded storage takes nothing new
	DiskFull bool `json:"diskFull"`
}

type runStatus struct {
	Slot        time.Time        `json:"slot"`
	Skipped     string           `json:"skipped,omitempty"`
	Done        bool             `json:"done"`
	Seconds     float64          `json:"seconds"`
	Batches     int64            `json:"batches"`
	BatchesDone int64            `json:"batchesDone"`
	Devices     int64            `json:"devices"`
	Folded      int64            `json:"folded"`
	Rows        int64            `json:"rows"`
	Late        int64            `json:"late"`
	Failed      int64            `json:"failed"`
	Audits      int64            `json:"audits"` // audit messages that the run enqueued
	AuditsDone  int64            `json:"auditsDone"`
	ByHand      bool             `json:"byHand,omitempty"` // started by furrow audit run
	Operations  map[string]int64 `json:"operations"`
}

func showStatus(c *cli.Context) error {
	a, err := accountsOf(c)
	if err != nil {
		return err
	}
	var all []pipelineStatus
	var near []limits.Limit
	for i := range a.where {
		own, of, err := a.status(i)
		if err := a.missing(i, err); err != nil {
			return err
		}
		if err == nil {
			all, near = append(all, own...), append(near, of...)
		}
	}
	return cmp.Or(printStatuses(c, all, near), a.complete())
}

// status returns the status of an account's pipelines, and the limits that they come near to.
func (a *accounts) status(number int) (all []pipelineStatus, of []limits.Limit, err error) {
	c := a.c
	file, err := configFile(c)
	if err != nil {
		return nil, nil, err
	}
	stores, err := a.open(number)
	if err != nil {
		return nil, nil, err
	}
	f, err := openFleetOf(c.Context, c, stores, file, false)
	if err != nil {
		return nil, nil, err
	}
	var reads []statusRead
	for _, p := range f.Pipelines {
		s, err := stores.pipelineStatus(c.Context, p)
		if err != nil {
			return nil, nil, err
		}
		reads = append(reads, statusRead{p, s})
	}
	proposals, err := proposalsOf(c.Context, stores, f)
	if err != nil {
		return nil, nil, err
	}
	spent := budgetOf(reads)
	own, shared, err := limitsOf(directoryOf(a.where[number]), reads)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range reads {
		audited, err := f.Reader().Progress().Audited(c.Context, s.pipeline.Name)
		if err != nil {
			return nil, nil, err
		}
		s.Unheard, err = f.Reader().Progress().Unheard(c.Context, s.pipeline.Name, s.At.Add(-24*time.Hour))
		if err != nil {
			return nil, nil, err
		}
		out := statusOf(s.pipeline, s.Status, audited)
		out.Limits, out.Budget, out.Proposals = slices.Concat(own[i], shared), spent, proposals
		out.DiskFull = stores.DiskFull()
		out.NeedsApply = f.Format < archive.Format && slices.ContainsFunc(s.pipeline.Processors, isArchive)
		if a.several() {
			out.Storage = a.name(number)
		}
		if c.Bool("tenants") {
			if out.Tenants, err = tenantsOf(c, f, s.pipeline.Name); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, out)
	}
	return all, slices.Concat(append(own, shared)...), nil
}

// proposalsOf returns how often devices send that state nothing.
func proposalsOf(ctx context.Context, s *stores, f *roles.Fleet) ([]query.Interval, error) {
	if len(f.Pipelines) == 0 {
		return nil, nil
	}
	stated, err := s.enrollments().StatedIntervals(ctx)
	if err != nil {
		return nil, err
	}
	model := f.Pipelines[0].ModelOf
	return f.Reader().Rows().Intervals(ctx, func(m schema.Member) time.Duration {
		return cmp.Or(model(m).Every, stated[m.Enrollment])
	}, func(m schema.Member) string { return model(m).Name })
}

// proposalsText formats the proposals of each storage for people.
func proposalsText(all []pipelineStatus) (text string) {
	for i, s := range all {
		if i > 0 && s.Storage == all[i-1].Storage {
			continue
		}
		for _, one := range s.Proposals {
			text += "\n" + wrapped(one.String(), 2) + "\n"
		}
	}
	return text
}

// tenantsOf counts the devices of each tenant.
func tenantsOf(c *cli.Context, f *roles.Fleet, p schema.Pipeline) ([]query.TenantStatus, error) {
	var skipped query.Skipped
	tenants, err := f.Reader().Progress().TenantStatuses(c.Context, p, &skipped)
	if err = cmp.Or(err, unreadable(c, skipped)); err != nil {
		return nil, err
	}
	return tenants, nil
}

func printStatuses(c *cli.Context, all []pipelineStatus, of []limits.Limit) error {
	between := ""
	for _, s := range all {
		if err := printLine(c, s, between+s.text()); err != nil {
			return err
		}
		between = "\n"
	}
	if c.Bool("json") {
		return nil
	}
	_, err := io.WriteString(c.App.Writer, budgetsText(all)+proposalsText(all)+limitsText(of))
	return err
}

func statusOf(p config.Pipeline, s query.Status, audited tables.Ticks) pipelineStatus {
	fleet := s.Fleet()
	out := pipelineStatus{
		Pipeline: p.Name, CadenceSeconds: p.Cadence.Seconds(), Devices: fleet.Devices, Behind: fleet.Behind, Held: fleet.Held,
		BehindSeconds: fleet.Lag.Seconds(), Claimed: fleet.Claimed, Resting: fleet.Resting,
		Failing: fleet.Failing, Newer: fleet.Newer, Unreadable: s.Skipped.N, Rows: fleet.Rows, Rejects: fleet.Rejects,
		RejectsDropped: fleet.Dropped, Late: fleet.Late, Refolds: fleet.Refolds,
		Ahead: fleet.Ahead, ClockAheadSeconds: s.Ahead.Seconds(), Waiting: fleet.Waiting,
		WaitingSeconds: fleet.WaitingLag.Seconds(),
		Queue:          s.Queue, Catchup: s.Catchup, Poison: s.Poison, Unheard: s.Unheard, Runs: []runStatus{},
	}
	for _, t := range s.Targets {
		out.Targets = append(out.Targets, targetLineOf(t))
	}
	if lag, known := s.Lag(); known {
		out.LagSeconds = new(lag.Seconds())
	}
	out.Audited = ticksTime(audited)
	if ago, known := s.Planned(); known {
		out.PlannedSeconds = new(ago.Seconds())
	}
	now := time.Now()
	for _, r := range s.Runs {
		if out.Runs = append(out.Runs, runOf(r)); now.Sub(r.Run.Slot.Time()) < 2*p.Cadence && !r.ByHand() {
			out.NextSeconds = new(untilNextRun(p.Cadence, now).Seconds())
		}
	}
	return out
}

func runOf(r worker.RunFigures) runStatus {
	w := r.Workers
	audits, audited := r.Audits()
	devices := w.Devices
	if r.ByHand() {
		devices = w.Audited
	}
	return runStatus{Audits: audits, AuditsDone: audited, ByHand: r.ByHand(), Slot: r.Run.Slot.Time(),
		Skipped: r.Run.Skipped, Done: r.Done(), Seconds: r.Took().Seconds(),
		Batches: r.Months.Batches + w.Again, BatchesDone: r.BatchesDone(), Devices: devices, Folded: w.Folded,
		Rows: w.Rows, Late: w.Late, Failed: w.Failed, Operations: w.Operations}
}
