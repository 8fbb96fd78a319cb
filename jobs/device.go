package jobs

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
)

// aloneAfter is how long a device that failed within its batch waits until it is
// tried alone.
const aloneAfter = 5 * time.Second

// suspicious is how often a batch fails as a whole until its devices are tried
// one by one, and one of them alone until the failure is called its own.
const suspicious = 2

// device does a device job, and puts what follows from it: a device far behind
// goes on in a job of its own, so does the part of the batch that was too much
// for one job, and a device that failed for the first time is tried again alone.
func (p *Pipeline) device(ctx context.Context, m Message, put Putter) (Result, error) {
	b := Batch{Month: m.Month, First: m.First, Last: m.Last, Chain: m.Chain}
	if m.Attempts >= suspicious && m.First != m.Last {
		return Result{}, p.split(ctx, m, put)
	}
	r, err := p.Run(ctx, b)
	switch {
	case err != nil && ctx.Err() == nil && m.Attempts >= suspicious:
		return p.blame(ctx, b, err)
	case err != nil:
		return r, err
	}
	next := Message{Kind: Device, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation, Month: m.Month}
	for _, d := range r.Behind {
		next.First, next.Last, next.Chain = d, d, true
		if err := put.Put(ctx, next, 0); err != nil {
			return r, err
		}
	}
	if r.Rest != "" {
		next.First, next.Last, next.Chain = r.Rest, m.Last, m.Chain
		if err := put.Put(ctx, next, 0); err != nil {
			return r, err
		}
	}
	for d, err := range r.Failed {
		if _, alone := err.(*firstFailure); !alone {
			continue
		}
		next.First, next.Last, next.Chain = d, d, m.Chain
		if err := put.Put(ctx, next, aloneAfter); err != nil {
			return r, err
		}
	}
	return r, p.putRefold(ctx, m, r.Anew, put)
}

// putRefold puts one job for the devices of a batch whose cursor was set.
func (p *Pipeline) putRefold(ctx context.Context, m Message, devices []tables.DeviceID, put Putter) error {
	if len(devices) == 0 {
		return nil
	}
	return put.Put(ctx, Message{Kind: Audit, Audit: Refold, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation, Month: m.Month,
		First: devices[0], Last: devices[len(devices)-1]}, 0)
}

// split puts a job for each device of a batch.
func (p *Pipeline) split(ctx context.Context, m Message, put Putter) error {
	work, _, err := p.read(ctx, Batch{Month: m.Month, First: m.First, Last: m.Last})
	if err != nil {
		return err
	}
	m.Attempts = 0
	for _, d := range work {
		m.First, m.Last = d.member.Device, d.member.Device
		if err := put.Put(ctx, m, 0); err != nil {
			return err
		}
	}
	return nil
}

// blame counts the failure of a job on its one device, which is then held.
func (p *Pipeline) blame(ctx context.Context, b Batch, why error) (Result, error) {
	work, now, err := p.read(ctx, b)
	if err != nil {
		return Result{}, errors.Join(why, err)
	}
	j := &job{pipeline: p, now: tables.TicksOf(now), work: work}
	for _, d := range work {
		d.err = why
		d.track.read.attempts = max(d.track.read.attempts, 1) // it has been alone already
	}
	if err := j.fail(ctx); err != nil {
		return Result{}, errors.Join(why, err)
	}
	return j.result(), nil
}
