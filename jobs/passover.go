package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/refold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A passedOver is what a job left to others.
type passedOver struct {
	Claimed  []claimed      // devices that another job has claimed
	Orphaned []orphaned     // devices whose chain or refold nobody seems to continue
	Failing  []schema.Place // devices that failed in a batch and are tried again alone
	Waiting  []schema.Place // devices far behind that wait for their turn to catch up

	now tables.Ticks // of the service, when the job looked
}

// A claimed device belongs to another job for a while.
type claimed struct {
	Place schema.Place
	Claim string
	Until tables.Ticks
}

// An orphaned device has a mark that has expired, or that a job which died may have set: its message is lost, or waits
// in a long queue. The message is put again with the ID of the mark, so the second one finds another ID and does
// nothing.
type orphaned struct {
	Place  schema.Place
	Mark   string
	Refold bool // it is the mark of a refold
	etag   tables.ETag
}

// passOver divides the devices of a batch into those of this job and those that it leaves to others.
func (b *devices) passOver() (mine []*folding.Device, over passedOver) {
	over.now = b.now
	for _, d := range b.work {
		t, at := d.Row, d.Member.Place()
		if t.HeldAt(b.now) || t.Generation > b.Generation {
			continue
		}
		if !t.Coverage.Next().Empty() && (!t.RefoldMark.Expected(b.now) && b.of.Mark == "" || b.of.Tried) {
			// The job commits the longer mark if it also has rows to fold, and then the write of extend is refused. A mark
			// without an ID gets d.
			t.RefoldMark = tracking.Mark{ID: cmp.Or(t.RefoldMark.ID, rand.Text()), Until: b.now.Add(b.marks())}
			over.Orphaned = append(over.Orphaned, orphaned{at, t.RefoldMark.ID, true, t.ETag})
		}
		switch {
		case t.Chain.Waits() && b.of.Mark != t.Chain.ID:
			over.Waiting = append(over.Waiting, at)
		case b.of.Tried && t.Chain.ID != "" && b.of.Mark != t.Chain.ID:
			over.Orphaned = append(over.Orphaned, orphaned{at, t.Chain.ID, false, t.ETag})
		case b.of.Mark != t.Chain.ID && (b.of.Mark != "" || t.Chain.Expected(b.now)):
			// A chain continues with it, or this message's link is already done.
		case b.of.Mark == "" && t.Chain.ID != "":
			over.Orphaned = append(over.Orphaned, orphaned{at, t.Chain.ID, false, t.ETag})
		case t.Hold.Keeps(b.now):
			// A follow-up of an earlier claim has nothing to add to a later d, because that job has read whatever this d
			// would. But an audit has not: it reads no row above the checkpoint. And if the follow-up has been tried before,
			// the later claim may be its own, of a worker that died.
			if b.of.Claim == "" || b.of.Claim == t.Hold.Claim || b.of.Mark != "" || b.of.Tried ||
				strings.HasPrefix(t.Hold.Claim, refold.AuditClaim) {
				over.Claimed = append(over.Claimed, claimed{at, t.Hold.Claim, t.Hold.Until})
			}
		case t.Attempts > 0 && !b.of.alone():
			over.Failing = append(over.Failing, at)
		default:
			mine = append(mine, d)
		}
	}
	return mine, over
}

// extend lengthens the marks whose messages are put again, so that the next run does not repeat them. If a row has
// changed meanwhile, somebody continues with the device after all.
func (b *devices) extend(ctx context.Context, over passedOver) error {
	for _, o := range over.Orphaned {
		e := tables.Entity{PartitionKey: o.Place.Month.String(), RowKey: string(o.Place.Key)}
		if m := (tracking.Mark{ID: o.Mark, Until: b.now.Add(b.marks())}); o.Refold {
			m.SetRefold(&e)
		} else {
			m.SetChain(&e)
		}
		if _, err := b.tracking().Do(ctx, tables.Merge(e, o.etag)); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
	return nil
}

// followUps returns the messages for claimed devices. A message that passed over them is not done with them, because
// whoever has claimed them may have died. Neighbors with the same claim share a message.
func followUps(m Message, over []claimed, now tables.Ticks) (all []follower) {
	for _, c := range over {
		if n := len(all); n == 0 || all[n-1].Claim != c.Claim {
			all = append(all, follower{Message: m})
			all[n].First, all[n].Claim = c.Place, c.Claim
		}
		last := &all[len(all)-1]
		last.Message = m.from(last.First, c.Place)
		last.Claim = c.Claim
		last.delay = max(last.delay, c.Until.Time().Sub(now.Time())+time.Second) // storage's time has whole seconds
	}
	return all
}

// A follower is a message that follows from a job.
type follower struct {
	Message
	delay time.Duration
}
