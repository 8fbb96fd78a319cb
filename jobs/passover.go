package jobs

import (
	"cmp"
	"context"
	"crypto/rand"

	"furrow/tables"
	"furrow/tables/schema"
)

// A passedOver is what a job left to others, and what follows from it.
type passedOver struct {
	Claimed  []claimed      // devices that another job has claimed
	Orphaned []orphaned     // devices whose chain or refold nobody seems to go on with
	Failing  []schema.Place // devices that failed in a batch, and are tried again alone

	now tables.Ticks // of the service, when the job looked
}

// A claimed device is another job's for a while.
type claimed struct {
	Place schema.Place
	Claim string
	Until tables.Ticks
}

// An orphaned device has a mark that has expired, or that a job which died may have set: its message is lost, or lies
// in a long queue. The message is put again with the id of the mark, so that whichever comes second finds another id
// and does nothing.
type orphaned struct {
	Place  schema.Place
	Mark   string
	Refold bool // it is the mark of a refold
	etag   tables.ETag
}

// passOver divides the devices of a batch into those that are this job's to do and those that it leaves to others.
func (p *Pipeline) passOver(work []*deviceRun, now tables.Ticks, b Batch) (mine []*deviceRun, over passedOver) {
	over.now = now
	for _, d := range work {
		t := d.track
		if t.heldUntil > now || t.generation > p.Generation {
			continue
		}
		if !t.refold.empty() && (t.refoldMark.until <= now && b.Mark == "" || b.Tried) {
			// The job commits the longer mark where it has rows to fold as well: what extend writes is refused then. A cursor
			// without an id gets one.
			t.refoldMark = mark{cmp.Or(t.refoldMark.id, rand.Text()), now.Add(p.marks())}
			over.Orphaned = append(over.Orphaned, orphaned{d.member.Place(), t.refoldMark.id, true, t.etag})
		}
		switch {
		case b.Tried && t.chain.id != "" && b.Mark != t.chain.id:
			over.Orphaned = append(over.Orphaned, orphaned{d.member.Place(), t.chain.id, false, t.etag})
		case b.Mark != t.chain.id && (b.Mark != "" || t.chain.until > now):
			// A chain goes on with it, or this message's link was done already.
		case b.Mark == "" && t.chain.id != "":
			over.Orphaned = append(over.Orphaned, orphaned{d.member.Place(), t.chain.id, false, t.etag})
		case t.hold.keeps(now):
			// A follow-up of an earlier claim has nothing to add to a later one: that job has read whatever this one would. An
			// audit has not: it reads no row above the checkpoint.
			if b.Claim == "" || b.Mark != "" || t.hold.ofAudit() || b.Claim == t.hold.claim {
				over.Claimed = append(over.Claimed, claimed{d.member.Place(), t.hold.claim, t.hold.until})
			}
		case t.attempts > 0 && !b.alone():
			over.Failing = append(over.Failing, d.member.Place())
		default:
			mine = append(mine, d)
		}
	}
	return mine, over
}

// extend lengthens the marks whose messages are put again, so that the next run does not put them once more. Where a
// row has changed meanwhile, somebody goes on with the device after all.
func (p *Pipeline) extend(ctx context.Context, over passedOver, now tables.Ticks) error {
	for _, o := range over.Orphaned {
		e := tables.Entity{PartitionKey: o.Place.Month.String(), RowKey: string(o.Place.Key)}
		if m := (mark{o.Mark, now.Add(p.marks())}); o.Refold {
			m.setRefold(&e)
		} else {
			m.setChain(&e)
		}
		if _, err := p.tracking().Do(ctx, tables.Merge(e, o.etag)); err != nil && !isChanged(err) {
			return err
		}
	}
	return nil
}

// A followUp is a message for claimed devices, and the end of the claim's hold.
type followUp struct {
	Message
	Until tables.Ticks
}

// followUps are the messages for claimed devices: a message that passed over them is not done with them, as whoever has
// claimed them may have died. Neighbours with one claim share a message.
func followUps(m Message, over []claimed) (all []followUp) {
	for _, c := range over {
		last := len(all) - 1
		if last < 0 || all[last].Claim != c.Claim {
			f := followUp{Message: m}
			f.First, f.Claim = c.Place, c.Claim
			all = append(all, f)
			last++
		}
		all[last].Last = c.Place
		all[last].Until = max(all[last].Until, c.Until)
	}
	return all
}
