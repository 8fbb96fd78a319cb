// Package refold repairs what lies below checkpoints. An audit counts rows in storage and compares them with the
// ledger; a redo folds days again and replaces their outputs. What days are worth, and why no row is left out, is in
// package coverage.
//
//	Refolder.Do ─► audit: count, compare, seal days that no token admits
//	               ├─► a day has more rows than the ledger: redo of that day, or make it stale
//	               └─► days are stale: redo of a portion of the first of them, and then they are right
//
// A redo claims nothing while it folds. It is committed on a fresh row if the ledger of its own days is as it was.
package refold

import (
	"context"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/outbox"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Refolder audits the devices of a pipeline, and folds again what has to be.
type Refolder struct {
	Writer *commit.Writer
	Outbox *outbox.Outbox
	// Late returns the age of the oldest row that a living token of a device admits.
	Late func(schema.Member) time.Duration
	// Steady reports whether runs before a moment show that time passes.
	Steady func(ctx context.Context, at tables.Ticks) (bool, error)
	// Every returns about how often device jobs look at a device that sends.
	Every   func(*folding.Device) time.Duration
	Rests   bool // devices rest, as package live says
	Portion int  // rows of one device that are folded at a time
	Most    int  // rows that a job folds in all
}

// A Task is what one job is to do.
type Task struct {
	Depth Depth
	Slot  tables.Ticks // of the job's run
	Since tables.Ticks // slot of the last run with Late audits; zero if there is none
	Mark  string       // if it is not empty, the job works off the stale days of devices with this mark alone
	Tried bool         // the job may have run before, so messages of marks may not have been put
}

// A Depth is how much an audit looks at.
type Depth string

const (
	Late   Depth = "late"   // the hours that have reached an age at which late rows are looked for
	Full   Depth = "full"   // all that the ledger covers
	Refold Depth = "refold" // nothing: it only makes stale days again
)

// A Result is what a job did.
type Result struct {
	Overtaken int // devices that another job has taken over
	Late      int // late rows that were found and folded
	Refolds   int // times that days of a device were folded again; a device may have several
	Missing   int // rows that were counted before and are gone

	Failed  map[schema.Place]error
	Held    []*folding.Device // other jobs keep them claimed for too long to wait
	Unended []Unended
	Unheard []Unheard
}

// An Unheard device rests, and has rows above its checkpoint.
type Unheard struct {
	Member schema.Member
	Asleep bool // as it has no token, not as its next reading is not due
}

// An Unended device has more to refold than one job may do. Another message is to continue.
type Unended struct {
	Device schema.Place
	Mark   string
	Delay  time.Duration
}

// An auditor does one job.
type auditor struct {
	*Refolder
	task   Task
	now    tables.Ticks // time of the service when the job began
	mark   string       // mark of the current device, as this job has committed it
	left   int          // rows that the job may still fold
	seals  []seal       // for the end of the job
	steady *bool        // what Steady has said; nil: nobody has asked
	result Result
}

// A seal is the days of a device that are to be sealed.
type seal struct {
	d     *folding.Device
	days  []coverage.Window
	known coverage.Known
}

// retryAfter is how long a device that failed waits before it is tried again.
const retryAfter = 5 * time.Second
