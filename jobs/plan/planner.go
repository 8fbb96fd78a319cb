package plan

import (
	"context"
	"time"

	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Planner plans the device and audit jobs of partitions of a pipeline's fleet.
type Planner struct {
	Pipeline schema.Pipeline
	Client   *tables.Client
	Names    schema.Names
	Size     int                               // most devices in a batch
	Late     func(schema.Member) time.Duration // age of the oldest row that a living token of a device admits
	// Stated returns the settings that a device is folded with, and how often it sends; zero: nobody says.
	Stated     func(schema.Member) (settings string, every time.Duration)
	Others     func(schema.Member) bool   // somebody else may write rows of a device
	Rests      bool                       // devices rest that have said so in their last commits
	Generation int64                      // of the configuration
	Cadence    time.Duration              // from one run to the next
	Settle     time.Duration              // younger rows wait
	Marks      time.Duration              // how long the mark of a group job keeps others from repeating it
	Groups     map[schema.MarkKind]string // settings of what is made of many devices
}

// A Task is what one job is to plan.
type Task struct {
	First, Last schema.Month // partitions of the fleet
	Slot        tables.Ticks
	Audit       refold.Depth // of the audits that it plans beside batches; empty: none
	Since       tables.Ticks // slot of the last run with Late audits
	Before      tables.Ticks // slot of the run before; 0: nobody knows
	Extra       bool         // it plans audits alone
	Progress    schema.Place // the last device that an earlier attempt has put into a batch
	Tried       bool         // an earlier attempt may have planned a part without saving that
}

// A Batch is devices that share a job: all of the fleet from First to Last, unless Only lists some of them.
type Batch struct {
	First, Last schema.Place
	Only        []schema.Place
	Resting     int // how many others there are, where Only lists some
}

// A Sink takes what is planned.
type Sink interface {
	Fold(context.Context, Batch) error
	Audit(context.Context, Batch) error
	Group(ctx context.Context, month schema.Month, kind schema.MarkKind, mark string) error
	// Save notes that all devices up to one are in batches.
	Save(context.Context, schema.Place) error
}

// A Result is what a job has planned.
type Result struct {
	Figures []*schema.MonthFigures // of each partition, in order
	Batches int
	Strange map[string]error // rows of the fleet that no program wrote
}

// A plan puts the devices of one or more partitions into batches, in order, and counts what it sees. It holds one page
// of the members and one of the tracking rows.
type plan struct {
	*Planner
	task    Task
	sink    Sink // nil if batches are only counted
	saved   schema.Place
	savedAt time.Time
	unsaved bool // something has been put since

	now     tables.Ticks // of the service, when the page was read
	month   schema.Month // the current partition
	resumed schema.Month // the partition that an earlier attempt has put in part
	at      *schema.MonthFigures
	figures map[schema.Month]*schema.MonthFigures
	planned map[schema.Month]bool  // to its end, in the run before
	seen    map[string]*seenGroups // by partition
	waiting schema.Place           // first waiting device of its tenant and partition

	seenLast schema.Place // the last device that was put into a batch, or passed over
	folds    batches
	audits   batches

	result Result
}

func (p *Planner) tracking() *tables.Table { return p.Client.Table(p.Names.Partitions(p.Pipeline)) }
