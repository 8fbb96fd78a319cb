// Package groups makes what depends on many devices: reports, and days of an archive. It knows neither jobs nor how
// they are planned.
//
//	a commit ─► a mark in the tracking table ─► Source.Work ─► Grouping.Make ─► the mark is deleted, if it is unchanged
package groups

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Source is a pipeline as groups see it.
type Source struct {
	Pipeline schema.Pipeline
	Client   *tables.Client
	Names    schema.Names
	ModelOf  func(schema.Member) *fold.Model
	Keep     []retain.Keep // what is kept of outputs
	Settle   time.Duration // how old rows are before they are folded; zero: the default
}

// Tracking returns the pipeline's tracking table, which has the marks as well.
func (s *Source) Tracking() *tables.Table { return s.Client.Table(s.Names.Partitions(s.Pipeline)) }

// A Grouping makes what marks of one kind ask for: something over many devices of one partition of the fleet, such as
// the reports of an hour.
//
// A commit leaves a mark (Effect.Mark) after the outputs that it speaks of were written. So whoever reads a mark, and
// those outputs afterwards, sees all that the mark speaks of. A group job reads marks, calls Make, and deletes each
// mark on the version that it read: where an output has changed meanwhile, there is a newer version, and the mark
// stays for the next job. Make must therefore read the version of what it is going to replace before it reads anything
// else, and write on that version: then of two jobs at a time none puts old over new.
type Grouping interface {
	// Settings stand for everything that decides what is made. Where they change, all that exists is marked.
	Settings() string
	// All yields a mark for everything in a partition of the fleet that Make could make, also of tenants that have left
	// it.
	All(ctx context.Context, s *Source, m schema.Month) iter.Seq2[schema.Mark, error]
	// Make makes what marks ask for that stand together (see schema.Mark). An error that wraps ErrUnmakeable or
	// ErrNotYet concerns these alone.
	Make(ctx context.Context, marks []schema.Mark) error
}

// ErrUnmakeable says that what a mark asks for cannot be made now: a row cannot be read, or another job was faster. The
// mark stays.
var ErrUnmakeable = errors.New("it cannot be made now")

// ErrNotYet says that what a mark asks for is made later, such as the archive of a day that is not over. The mark
// stays.
var ErrNotYet = errors.New("it is not time yet")

// ErrMade says that what a mark asks for is made, and that something else has failed which has no mark.
var ErrMade = errors.New("it is made")

// ErrWaits is ErrNotYet where nothing but time is missing: what the mark asks for counts as waiting.
var ErrWaits = fmt.Errorf("%w, and it waits", ErrNotYet)

// mostMarks is after how many marks a group job ends. The next one begins with the rest.
const mostMarks = 100

// mostTogether bounds the marks that are made together, and so what they take of memory. What more of them ask for is
// made once more.
const mostTogether = 20_000
