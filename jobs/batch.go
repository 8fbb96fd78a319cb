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
	"furrow/tables"
	"furrow/tables/schema"
)

// Run does a device job: READ rows after the checkpoint, FOLD them, CLAIM the devices that have something to write,
// WRITE their outputs, COMMIT their checkpoints. Repeated, by anybody and at any time, it does what is left.
//
// An error means that storage did not answer in the end, and that the job should be repeated. The failures of single
// devices are in the Result, and counted on their tracking rows.
func (p *Pipeline) Run(ctx context.Context, b Batch) (r Result, err error) {
	read, err := p.read(ctx, b)
	if err == nil {
		r, err = read.run(ctx)
	}
	if err != nil {
		return Result{}, fmt.Errorf("batch %s to %s: %w", b.First, b.Last, err)
	}
	return r, nil
}

func (b *devices) run(ctx context.Context) (Result, error) {
	work, over := b.passOver()
	var rest schema.Place
	if n := b.batch(); len(work) > n {
		rest, work = work[n].Member.Place(), work[:n]
	}
	woken, err := b.outbox().Left(ctx, work)
	if err != nil {
		return Result{}, err
	}
	looked, deleted := len(work), map[*commit.Device]retain.Done{}
	if b.Retention != nil {
		deleted, err = b.Retainer().Run(ctx, folding.Changes(work), b.now, b.Clock.Surely(b.now, b.of.Slot))
	} else {
		looked, err = b.folder().Do(ctx, work, b.now, b.of.Slot)
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
	j := &commit.Attempt{Writer: b.writer(), Claim: rand.Text(), Now: b.now, Work: folding.Changes(work)}
	var also []schema.Target
	if err = j.Do(ctx); err == nil {
		also, err = b.outbox().Committed(ctx, work)
	}
	if err == nil {
		err = j.Fail(ctx)
	}
	if err != nil {
		j.GiveBack(ctx)
		return Result{}, err
	}
	r := b.result(work, deleted, j.Claim)
	r.Rest, r.passedOver, r.woken = rest, over, append(woken, also...)
	r.Strange = b.strange
	return r, b.extend(ctx, over)
}

func (b *devices) result(work []*folding.Device, deleted map[*commit.Device]retain.Done, mark string) Result {
	r := Result{Devices: len(work), Mark: mark, Failed: map[schema.Place]error{},
		Deleted: map[string]int{}, Waits: map[retain.Cause]int{}}
	if b.Retention != nil {
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

// imports reads the notes of imports on a membership. One that is gone keeps those that are known.
func (b *devices) imports(ctx context.Context, m schema.Member) (schema.Imports, error) {
	row, err := b.Client.Table(b.Names.Fleet()).Get(ctx, m.Month.String(), string(m.Key()))
	if tables.Absent(err) {
		return m.Imports, nil
	}
	if err == nil {
		m, err = schema.MemberOf(row)
	}
	return m.Imports, err
}

// folder returns what folds new rows for the pipeline. Devices that keep up with an hourly one may have thousands of
// rows in each run, so it is three cadences before they are far behind.
func (b *devices) folder() *live.Folder {
	var rester *live.Rester
	if b.rests() {
		rester = &live.Rester{Client: b.Client, Others: b.others, Generation: b.Generation}
	}
	return &live.Folder{Client: b.Client, Clock: b.Clock, Late: b.late, Every: b.every, Cadence: b.Cadence,
		Steady: b.ranBefore, Imports: b.imports, Rester: rester,
		Settle: b.settle(), Long: max(10*time.Minute, 3*b.Cadence), Portion: b.portion(), Most: b.most()}
}
