package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
)

// A Batch is the devices of one partition of the fleet from First to Last.
type Batch struct {
	Month       tables.Month
	First, Last tables.DeviceID
}

// A Result is what a device job did.
type Result struct {
	Devices   int // looked at
	Folded    int // of them, those with new rows that were committed
	Rows      int // folded and committed
	Refused   int // values and rows
	Overtaken int // devices that another job has taken over; theirs is the work now
	Behind    []tables.DeviceID
	Failed    map[tables.DeviceID]error
}

// Run does a device job: READ rows after the checkpoint, FOLD them, CLAIM the
// devices that have something to write, WRITE their outputs, COMMIT their
// checkpoints. Run again, by anybody and at any time, it does what is left.
//
// An error means that storage did not answer in the end, and that the job is to
// be tried again; what is wrong with one device is in the Result.
func (p *Pipeline) Run(ctx context.Context, b Batch) (Result, error) {
	work, now, err := p.read(ctx, b)
	if err != nil {
		return Result{}, fmt.Errorf("batch %s to %s of %s: %w", b.First, b.Last, b.Month, err)
	}
	p.foldAll(ctx, work, now)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	j := &job{pipeline: p, claim: rand.Text(), now: tables.TicksOf(now), work: work}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{{"claiming", j.claimAll}, {"writing rejects", j.reject}, {"writing outputs", j.write}, {"committing", j.commit}} {
		if err := step.do(ctx); err != nil {
			return Result{}, fmt.Errorf("batch %s to %s of %s: %s: %w", b.First, b.Last, b.Month, step.name, err)
		}
	}
	return j.result(), nil
}

// read gives the devices of a batch with their tracking rows, and the service's
// time. A device without a tracking row is at its beginning.
func (p *Pipeline) read(ctx context.Context, b Batch) (work []*folding, now time.Time, err error) {
	part := tables.RowsBetween(b.Month.String(), string(b.First), string(b.Last))
	tracks := map[string]*track{}
	for page, err := range p.tracking().Rows(ctx, tables.Query{Range: part}) {
		if err != nil {
			return nil, now, err
		}
		for _, e := range page.Rows {
			if tracks[e.RowKey], err = trackOf(e); err != nil {
				return nil, now, err
			}
		}
	}
	for page, err := range p.Client.Table(p.Names.Fleet()).Rows(ctx, tables.Query{Range: part}) {
		if err != nil {
			return nil, now, err
		}
		now = page.Time
		for _, e := range page.Rows {
			m, err := tables.MemberOf(e)
			if err != nil {
				return nil, now, err
			}
			t := tracks[e.RowKey]
			if t == nil {
				t = newTrack()
			}
			work = append(work, &folding{member: m, track: t, effects: map[Output]Effect{}})
		}
	}
	if now.IsZero() {
		return nil, now, errors.New("storage sent no Date, without which no horizon is safe")
	}
	return work, now, nil
}

// foldAll folds device after device, until the job has its most. The horizon is
// the service's time less the time to settle, never this machine's (invariant 6).
func (p *Pipeline) foldAll(ctx context.Context, work []*folding, now time.Time) {
	horizon := tables.TicksOf(now.Add(-p.settle())).String()
	left := p.most()
	for _, d := range work {
		if left == 0 {
			d.behind = true
			continue
		}
		p.fold(ctx, d, horizon, min(p.portion(), left))
		left = max(0, left-d.rows)
	}
}

func (j *job) result() Result {
	r := Result{Devices: len(j.work), Failed: map[tables.DeviceID]error{}}
	for _, d := range j.work {
		switch {
		case d.err != nil:
			r.Failed[d.member.Device] = d.err
			continue
		case d.dropped:
			r.Overtaken++
			continue
		case d.rows > 0:
			r.Folded++
			r.Rows += d.rows
			r.Refused += len(d.refused)
		}
		if d.behind {
			r.Behind = append(r.Behind, d.member.Device)
		}
	}
	return r
}
