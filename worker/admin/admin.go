// Package admin has the acts on a fleet that commands and the dashboard share: it revokes, restores and releases
// devices, has readings folded again, and puts poison messages back. It records every act in the activity log.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"furrow/jobs"
	"furrow/sas"
	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// A Fleet is what people act on.
type Fleet struct {
	Tables      *tables.Client
	Names       schema.Names
	Policies    *sas.Policies
	Enrollments *sas.Enrollments
	// Pipelines returns those of the current configuration.
	Pipelines func() ([]Pipeline, error)
	// Log records acts; nil: the activity log of the fleet does.
	Log *access.Log
}

// A Pipeline is a pipeline with its queue.
type Pipeline struct {
	*jobs.Pipeline
	Queue *worker.Queue
}

// An Actor is who acts.
type Actor struct {
	Name string
	From string // dashboard, API or FromCommand
}

// FromCommand is where those act from who run commands.
const FromCommand = "command"

// MoveAct is the name of moving a device, in the activity log. It is about the new tenant.
const MoveAct = "device move"

// Do does an act and records it. An empty outcome is recorded as "done".
func (f Fleet) Do(
	ctx context.Context, by Actor, act schema.Act, do func(context.Context) (outcome string, err error),
) error {
	act.Who, act.From = by.Name, by.From
	log := access.NewLog(f.Tables, f.Names)
	if f.Log != nil {
		log = *f.Log
	}
	return log.Do(ctx, act, func(ctx context.Context) (string, error) {
		outcome, err := do(ctx)
		return cmp.Or(outcome, "done"), err
	})
}

// Device returns the record of a device as it is now.
func (f Fleet) Device(ctx context.Context, id schema.DeviceID) (schema.Device, error) {
	d, err := sas.NewRegistry(f.Tables, f.Names).Get(ctx, id)
	if err == nil && d.Status.Left() {
		err = fmt.Errorf("device %s is %s", id, d.Status)
	}
	return d, err
}

// EachDevice calls visit for each device of the fleet, with its tokens. It skips records of newer programs, and calls
// newer for each.
func (f Fleet) EachDevice(ctx context.Context, visit func(schema.Device) error, newer func(error)) error {
	wanted := tables.Query{Select: append(schema.DeviceSummary(), "Tokens")}
	for page, err := range f.Tables.Table(f.Names.Devices()).Rows(ctx, wanted) {
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			device, err := schema.DeviceOf(row)
			if errors.Is(err, schema.ErrNewer) {
				newer(err)
				continue
			}
			if err == nil {
				err = visit(device)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (f Fleet) reader() query.Fleet { return query.Fleet{Tables: f.Tables, Names: f.Names} }
