package jobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Batch is the devices of the fleet from First to Last.
type Batch struct {
	First, Last schema.Place

	// Mark selects devices like Message.Mark. If it is empty, the batch is for all devices without a chain.
	Mark string
	// Claim is that of a follow-up, as in Message.Claim.
	Claim string
	// Slot is that of the job's run; zero if it has none.
	Slot tables.Ticks
	// Tried says that the job may have run before. It then repeats the messages of the marks that it finds, as they may be
	// its own.
	Tried bool
}

func (b Batch) alone() bool { return b.First == b.Last }

// A Result is what a job did.
type Result struct {
	Months    int                  // month jobs put
	Batches   int                  // device jobs put by a month job
	Devices   int                  // looked at
	Folded    int                  // devices whose new rows were committed
	Rows      int                  // folded and committed
	Refused   int                  // rows with a rejected value
	Overtaken int                  // devices that another job has taken over
	Late      int                  // late rows that an audit found and folded
	Refolds   int                  // devices that were folded again, in part or whole
	Missing   int                  // rows that were counted before and are gone
	Made      int                  // marks that a group job has worked off
	Acks      int                  // acknowledgements of commands in the folded rows
	Deleted   map[string]int       // rows that retention has deleted, by table
	Waits     map[retain.Cause]int // devices with readings that are old enough to go and stay

	// Overdue is for how long the oldest readings of Waits have been old enough, at most. It is nil without Retention.
	Overdue map[retain.Cause]time.Duration

	Behind []schema.Place // devices with more rows than were folded
	Rest   schema.Place   // first device that the job did not get to; zero if none
	Reset  []schema.Place // devices with days that have become stale
	Mark   string         // mark of the devices in Behind and Reset
	Lost   []schema.Place // devices of Overtaken: the faster job need not continue a chain
	Failed map[schema.Place]error
	// Strange has the errors of rows and partitions of the fleet that this program did not write.
	Strange map[string]error

	passedOver
	ended []schema.Place  // devices whose chain has ended
	woken []schema.Target // targets that nobody had woken before
}

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
		deleted, err = p.retainer().Run(ctx, folding.Changes(work), read.now, commit.Surely(read.now, b.Slot))
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
