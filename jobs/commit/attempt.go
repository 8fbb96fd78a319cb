package commit

import (
	"context"
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Writer has what claims, writes and commits need to know of a pipeline.
type Writer struct {
	Pipeline    schema.Pipeline
	Client      *tables.Client
	Names       schema.Names
	Objects     Objects // nil: no processor writes any
	ObjectsOnly bool    // nothing but objects is made of rows
	Format      int64   // of rows and outputs
	Generation  int64   // of the configuration
	Hold        time.Duration
	Marks       time.Duration
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

// Do claims, writes and commits.
func (a *Attempt) Do(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"claiming", a.ClaimAll}, {"writing rejects", a.reject},
		{"writing acknowledgements", a.acknowledge}, {"writing outputs", a.write},
		{"writing objects", a.writeObjects}, {"committing", a.commit},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
