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

	// Chain says that marks that keep a device to a job of its own are to be passed.
	Chain bool
}

// A Result is what a job did.
type Result struct {
	Months    int // month jobs put
	Batches   int // device jobs put by a month job
	Devices   int // looked at
	Folded    int // of them, those with new rows that were committed
	Rows      int // folded and committed
	Refused   int // values and rows
	Overtaken int // devices that another job has taken over; theirs is the work now
	Late      int // rows that an audit found below the checkpoint, and folded
	Refolds   int // devices that were folded anew, in part or whole
	Missing   int // rows that were counted once and are gone

	Behind []tables.DeviceID // with more rows than were folded
	Rest   tables.DeviceID   // from which on the batch was not looked at; empty where it was
	Anew   []tables.DeviceID // whose refold cursor an audit is to work off
	Failed map[tables.DeviceID]error
}

// Run does a device job: READ rows after the checkpoint, FOLD them, CLAIM the
// devices that have something to write, WRITE their outputs, COMMIT their
// checkpoints. Run again, by anybody and at any time, it does what is left.
//
// An error means that storage did not answer in the end, and that the job is to
// be tried again; what is wrong with one device is in the Result, and counted on
// its tracking row.
func (p *Pipeline) Run(ctx context.Context, b Batch) (Result, error) {
	r, err := p.run(ctx, b)
	if err != nil {
		return Result{}, fmt.Errorf("batch %s to %s of %s: %w", b.First, b.Last, b.Month, err)
	}
	return r, nil
}

func (p *Pipeline) run(ctx context.Context, b Batch) (Result, error) {
	work, now, err := p.read(ctx, b)
	if err != nil {
		return Result{}, err
	}
	work = passOver(work, tables.TicksOf(now), b.Chain)
	var rest tables.DeviceID
	if n := p.batch(); len(work) > n {
		rest, work = work[n].member.Device, work[:n]
	}
	looked, err := p.foldAll(ctx, work, now)
	if err != nil {
		return Result{}, err
	}
	if looked < len(work) {
		rest, work = work[looked].member.Device, work[:looked]
	}
	j := &job{pipeline: p, claim: rand.Text(), now: tables.TicksOf(now), work: work}
	if err := j.do(ctx); err != nil {
		return Result{}, err
	}
	if err := j.fail(ctx); err != nil {
		return Result{}, err
	}
	r := j.result()
	r.Rest = rest
	return r, nil
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
			work = append(work, newFolding(m, t))
		}
	}
	if now.IsZero() {
		return nil, now, errors.New("storage sent no Date, without which no horizon is safe")
	}
	return work, now, nil
}

// passOver leaves out the devices that are held, and those that a job of their
// own goes on with.
func passOver(work []*folding, now tables.Ticks, chain bool) (left []*folding) {
	for _, d := range work {
		if d.track.heldUntil <= now && (chain || d.track.chain <= now) {
			left = append(left, d)
		}
	}
	return left
}

// foldAll folds device after device, until the job has its most, and says how
// many it has looked at. The horizon is the service's time less the time to
// settle, never this machine's (invariant 6).
func (p *Pipeline) foldAll(ctx context.Context, work []*folding, now time.Time) (looked int, err error) {
	horizon := tables.TicksOf(now.Add(-p.settle()))
	rows, weight := p.most(), maxWeight
	for i, d := range work {
		if rows <= 0 || weight <= 0 {
			return i, nil
		}
		if err := p.fold(ctx, d, horizon, min(p.portion(), rows), weight); err != nil {
			return i, err
		}
		rows, weight = rows-d.rows, weight-d.weight
	}
	return len(work), nil
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
		if d.track.refold != d.track.read.refold {
			r.Anew = append(r.Anew, d.member.Device)
		}
	}
	return r
}
