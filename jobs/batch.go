package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/live"
	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// Run does a device job: READ rows after the checkpoint, FOLD them, CLAIM the devices that have something to write,
// WRITE their outputs, COMMIT their checkpoints. Repeated, by anybody and at any time, it does what is left.
//
// An error means that storage did not answer in the end, and that the job should be repeated. The failures of single
// devices are in the Result, and counted on their tracking rows.
func (p *Pipeline) Run(ctx context.Context, b Batch) (Result, error) {
	r, err := p.run(ctx, b)
	if err != nil {
		return Result{}, fmt.Errorf("batch %s to %s: %w", b.First, b.Last, err)
	}
	return r, nil
}

func (p *Pipeline) run(ctx context.Context, b Batch) (Result, error) {
	read, err := p.read(ctx, b)
	if err != nil {
		return Result{}, err
	}
	work, over := p.passOver(read.work, read.now, b)
	var rest schema.Place
	if n := p.batch(); len(work) > n {
		rest, work = work[n].Member.Place(), work[:n]
	}
	woken, err := p.outbox().Left(ctx, work)
	if err != nil {
		return Result{}, err
	}
	looked, deleted := len(work), map[*commit.Device]retain.Done{}
	if p.Retention != nil {
		deleted, err = p.Retainer().Run(ctx, folding.Changes(work), read.now, p.Clock.Surely(read.now, b.Slot))
	} else {
		looked, err = p.folder().Do(ctx, work, read.now, b.Slot)
	}
	if err != nil {
		return Result{}, err
	}
	for _, d := range work {
		done := deleted[&d.Device]
		if d.Folded += done.Rows; done.Later {
			over.Failing = append(over.Failing, d.Member.Place())
		}
	}
	if looked < len(work) {
		rest, work = work[looked].Member.Place(), work[:looked]
	}
	j := &commit.Attempt{Writer: p.writer(), Claim: rand.Text(), Now: read.now, Work: folding.Changes(work)}
	var also []schema.Target
	if err = j.Do(ctx); err == nil {
		also, err = p.outbox().Committed(ctx, work)
	}
	if err == nil {
		err = j.Fail(ctx)
	}
	if err != nil {
		j.GiveBack(ctx)
		return Result{}, err
	}
	r := p.result(work, deleted, j.Claim)
	r.Rest, r.passedOver, r.woken = rest, over, append(woken, also...)
	r.Strange = read.strange
	return r, p.extend(ctx, over, read.now)
}

func (p *Pipeline) result(work []*folding.Device, deleted map[*commit.Device]retain.Done, mark string) Result {
	r := Result{Devices: len(work), Mark: mark, Failed: map[schema.Place]error{},
		Deleted: map[string]int{}, Waits: map[retain.Cause]int{}}
	if p.Retention != nil {
		r.Overdue = map[retain.Cause]time.Duration{}
	}
	for _, d := range work {
		done := deleted[&d.Device]
		for table, n := range done.Deleted {
			r.Deleted[table] += n
		}
		if why := done.Waits; why != "" {
			r.Waits[why]++
			r.Overdue[why] = max(r.Overdue[why], done.Overdue)
		}
		switch {
		case d.Err != nil:
			r.Failed[d.Member.Place()] = d.Err
			continue
		case d.Outcome() == commit.Overtaken:
			r.Overtaken++
			r.Lost = append(r.Lost, d.Member.Place())
			continue
		case d.Folded > 0:
			r.Folded++
			r.Rows += d.Folded
			r.Acks += len(d.Acks)
			r.Refused += int(d.Rejects.Count)
		}
		switch {
		case d.Behind:
			r.Behind = append(r.Behind, d.Member.Place())
		case d.Outcome() == commit.Committed && d.Row.Was.Chain.ID != "":
			r.ended = append(r.ended, d.Member.Place())
		}
		if d.Row.Refolded() && !d.Row.Coverage.Next().Empty() {
			r.Reset = append(r.Reset, d.Member.Place())
		}
	}
	return r
}

// folder returns what folds new rows for the pipeline. Devices that keep up with an hourly one may have thousands of
// rows in each run, so it is three cadences before they are far behind.
func (p *Pipeline) folder() *live.Folder {
	var rester *live.Rester
	if p.rests() {
		rester = &live.Rester{Client: p.Client, Others: p.others, Generation: p.Generation}
	}
	return &live.Folder{Client: p.Client, Clock: p.Clock, Late: p.late, Every: p.every, Steady: p.ranBefore,
		Rester: rester,
		Settle: p.settle(), Long: max(10*time.Minute, 3*p.Cadence), Portion: p.portion(), Most: p.most()}
}
