package jobs

import (
	"context"
	"crypto/rand"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Batch is the devices of the fleet from First to Last.
type Batch struct {
	First, Last schema.Place

	// Mark names the devices that the batch is for, as Message.Mark does; empty: all but those that a chain goes on with.
	Mark string
	// Claim is that of a follow-up, as Message.Claim.
	Claim string
	// Tried says that the job was begun before: the messages of the marks that it finds are put again, as they may be its
	// own.
	Tried bool
}

func (b Batch) alone() bool { return b.First == b.Last }

// A Result is what a job did.
type Result struct {
	Months    int // month jobs put
	Batches   int // device jobs put by a month job
	Devices   int // looked at
	Folded    int // of them, those with new rows that were committed
	Rows      int // folded and committed
	Refused   int // rows of which something was rejected
	Overtaken int // devices that another job has taken over; theirs is the work now
	Late      int // rows that an audit found below the checkpoint, and folded
	Refolds   int // devices that were folded anew, in part or whole
	Missing   int // rows that were counted once and are gone

	Behind []schema.Place // with more rows than were folded
	Rest   schema.Place   // from which on the batch was not looked at; zero where it was
	Anew   []schema.Place // whose refold cursor was set
	Mark   string         // that the rows of Behind and Anew have now
	Lost   []schema.Place // of Overtaken: whoever was faster need not go on with a chain
	Failed map[schema.Place]error
	// Strange are the rows and partitions of the fleet that nobody of ours has written.
	Strange map[string]error

	passedOver
}

// Run does a device job: READ rows after the checkpoint, FOLD them, CLAIM the devices that have something to write,
// WRITE their outputs, COMMIT their checkpoints. Run again, by anybody and at any time, it does what is left.
//
// An error means that storage did not answer in the end, and that the job is to be tried again; what is wrong with one
// device is in the Result, and counted on its tracking row.
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
		rest, work = work[n].member.Place(), work[:n]
	}
	looked, err := p.foldAll(ctx, work, read.now)
	if err != nil {
		return Result{}, err
	}
	if looked < len(work) {
		rest, work = work[looked].member.Place(), work[:looked]
	}
	j := &job{pipeline: p, claim: rand.Text(), now: read.now, work: work}
	err = j.do(ctx)
	if err == nil {
		err = j.fail(ctx)
	}
	if err != nil {
		j.giveBack(ctx)
		return Result{}, err
	}
	r := j.result()
	r.Rest, r.passedOver = rest, over
	r.Strange = read.strange
	return r, p.extend(ctx, over, read.now)
}

// maxUnread is how many devices of a batch may fail to be read, with none read, until the failure is called storage's
// and not theirs.
const maxUnread = 3

// foldAll folds device after device, until the job has its most, and says how many it has looked at. The horizon is the
// service's time less the time to settle, never this machine's (invariant 6). That the rows of one device cannot be
// read is that device's failure, unless no device's can.
func (p *Pipeline) foldAll(ctx context.Context, work []*deviceRun, now tables.Ticks) (looked int, err error) {
	horizon := now.Add(-p.settle())
	rows, weight, bytes, unread := p.most(), maxWeight, 2*maxBytes, 0
	for i, d := range work {
		if rows <= 0 || weight <= 0 || bytes <= 0 {
			return i, nil
		}
		if d.err != nil {
			continue // its tracking row cannot be read
		}
		err := p.fold(ctx, d, horizon, min(p.portion(), rows), weight)
		if ctx.Err() != nil {
			return i, context.Cause(ctx)
		}
		if err != nil {
			d.unavailable(err)
			if unread++; unread == i+1 && unread == maxUnread {
				return i, err
			}
		}
		rows, weight, bytes = rows-d.rows, weight-d.weight, bytes-d.bytes
	}
	return len(work), nil
}

func (j *job) result() Result {
	r := Result{Devices: len(j.work), Mark: j.claim, Failed: map[schema.Place]error{}}
	for _, d := range j.work {
		switch {
		case d.err != nil:
			r.Failed[d.member.Place()] = d.err
			continue
		case d.dropped:
			r.Overtaken++
			r.Lost = append(r.Lost, d.member.Place())
			continue
		case d.rows > 0:
			r.Folded++
			r.Rows += d.rows
			r.Refused += int(d.rejects.count)
		}
		if d.behind {
			r.Behind = append(r.Behind, d.member.Place())
		}
		if d.track.refolded() && !d.track.refold.empty() {
			r.Anew = append(r.Anew, d.member.Place())
		}
	}
	return r
}
