package jobs

import (
	"cmp"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A hold is a claim as the tracking row has it. While it is open, other jobs pass over the device: jobs that overlap
// would otherwise each claim what the last one has nearly done, and none would ever commit. It is a courtesy:
// correctness rests on fences alone.
type hold struct {
	claim     string       // of the job that claimed the row last; empty once it was given back
	committed string       // the claim of the last commit; equal to claim: the claim is closed
	until     tables.Ticks // by storage's time; from then on the claim may be taken over
	takeovers int          // open claims that were taken over since the last commit
}

func holdOf(f *tables.Fields) hold {
	return hold{f.String(schema.TrackClaim), f.String(schema.TrackCommitted), f.Ticks(schema.TrackClaimUntil),
		int(f.Int(schema.TrackTakeovers))}
}

// open tells whether a job has claimed the row and has neither committed nor given it back.
func (h hold) open() bool { return h.claim != "" && h.claim != h.committed }

// keeps tells whether the row is another job's at a moment. A time that no worker can have written, as of a clock that
// jumped, keeps nobody away.
func (h hold) keeps(now tables.Ticks) bool {
	return h.open() && now < h.until && h.until <= now.Add(longestHold+time.Minute)
}

// auditClaim begins the claims of audits.
const auditClaim = "audit-"

func (h hold) ofAudit() bool { return strings.HasPrefix(h.claim, auditClaim) }

// longestHold bounds how long one claim keeps other jobs away.
const longestHold = 10 * time.Minute

// next is the hold of a claim that is made at a moment. Each time an open claim is taken over without a commit between,
// the next one holds twice as long: a machine that needs longer than the first hold gets there in the end.
func (h hold) next(claim string, at tables.Ticks, length time.Duration) hold {
	n := hold{claim: claim, takeovers: h.takeovers}
	if h.open() {
		n.takeovers++
	}
	for range n.takeovers {
		length = min(2*length, longestHold)
	}
	n.until = at.Add(length)
	return n
}

func (h hold) set(e *tables.Entity) {
	e.Set(schema.TrackClaim, tables.String(h.claim))
	e.Set(schema.TrackClaimUntil, tables.DateTime(h.until))
	if h.takeovers > 0 {
		e.Set(schema.TrackTakeovers, tables.Int64(int64(h.takeovers)))
	}
}

// defaultHold is the default lease of a message: a worker that died loses its messages and its claims at about the same
// time.
const defaultHold = 30 * time.Second

func (p *Pipeline) hold() time.Duration { return cmp.Or(p.Hold, defaultHold) }
