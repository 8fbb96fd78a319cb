package commit

import (
	"errors"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Writer has what claims, writes and commits need to know of a pipeline.
type Writer struct {
	Pipeline   schema.Pipeline
	Client     *tables.Client
	Names      schema.Names
	Format     int64 // of rows and outputs
	Generation int64 // of the configuration
	Clock      Clock
	Hold       time.Duration
	Marks      time.Duration
	// Keeps says whether an output is kept at a time; retention has deleted others.
	Keeps func(m schema.Member, e fold.Effect, now tables.Ticks) bool
}

func (w *Writer) Tracking() *tables.Table { return w.Client.Table(w.Names.Partitions(w.Pipeline)) }

// An Attempt is one try to write the changes of a batch of devices.
type Attempt struct {
	*Writer
	Claim string       // random: shows that a row was written by this attempt
	Now   tables.Ticks // of the service
	Work  []*Device
}

// life is how long an attempt goes on after it was begun. Then its requests are refused: storage takes none that was
// signed more than 15 minutes ago. learn.microsoft.com: "Authorize with Shared Key", Specifying the Date header.
const life = 30 * time.Minute

// Landed is how long after a claim no request of its attempt arrives any more, unless the worker's machine stands still
// between a look at its clock and signing a request.
const Landed = time.Hour

var errTooLong = errors.New("it took too long: another attempt begins from where storage is now")
