// Package folding folds rows of one device in memory: it reads pages of readings, has processors fold them, and keeps
// what they make of them as a change of the device. It does not know whether the rows are new or folded again, nor who
// writes the change.
package folding

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Device is a device whose rows a job folds, in memory: the change that they make of it, and how much that is.
// It belongs to one goroutine.
type Device struct {
	commit.Device
	Model *fold.Model
	Known fold.Known // of the device, before the job

	// Again says that rows are folded again. Processors that take each row once are skipped, and watchers see nothing.
	Again bool

	Folded  int          // rows
	Arrived tables.Ticks // when the last of them did, by storage's clock
	Bytes   int          // of these rows
	Weight  int          // approximate bytes of effects and rejects

	// Recount counts the rows that are read at or below the checkpoint, which are folded already. It is nil where none
	// is read.
	Recount *tracking.Ledger

	// Notes reads the notes of imports on the device's membership. It may be nil.
	Notes func(context.Context) (schema.Imports, error)

	refused map[string]*schema.Reject // of the rows being folded, by row key
	began   time.Time                 // when folding began
	onFold  func(fold.Folded)         // may be nil
}

// NewDevice returns a device at a tracking row. onFold is told of each call of a processor, and may be nil.
func NewDevice(m schema.Member, t *tracking.Row, model *fold.Model, onFold func(fold.Folded)) *Device {
	return &Device{Device: commit.NewDevice(m, t), Model: model, onFold: onFold}
}

// On returns the same device at another tracking row, without a change.
func (d *Device) On(t *tracking.Row) *Device {
	return NewDevice(d.Member, t, d.Model, d.onFold)
}

// Changes returns what is to be written of devices.
func Changes(work []*Device) (all []*commit.Device) {
	for _, d := range work {
		all = append(all, &d.Device)
	}
	return all
}

// Track sets the device's tracking row, or its error.
func (d *Device) Track(row tables.Entity) {
	var err error
	if d.Row, err = tracking.RowOf(row); err != nil {
		d.Err = fmt.Errorf("its tracking row cannot be read: %w", err)
	}
}

// Rescue makes a panic of a fold the error of its device. It is deferred.
func (d *Device) Rescue() {
	if r := recover(); r != nil {
		d.Err = fmt.Errorf("panic in a fold: %v\n%s", r, debug.Stack())
	}
}
