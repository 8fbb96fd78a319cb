package roles

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"furrow/sas"
	"furrow/tables/schema"
)

// An admission knows what enrollments say of their devices: how old a row may be when it is stored with a token, as far
// back audits look, how often they send, and whether others write for them.
type admission struct {
	enrollments *sas.Enrollments
	log         *slog.Logger
	all         atomic.Pointer[map[schema.EnrollmentID]admitted]
}

// admitted is what an enrollment says.
type admitted struct {
	span   time.Duration // how old a row may be
	every  time.Duration // its devices send; zero: it states nothing
	others bool          // write for its devices
}

// admissionEvery is how often enrollments are read. A new enrollment may admit older rows than all others; a ledger
// that is cut shorter before that has no rows of its devices yet.
const admissionEvery = time.Minute

// said returns what enrollments say; nil until they were read.
func (a *admission) said() map[schema.EnrollmentID]admitted {
	if all := a.all.Load(); all != nil {
		return *all
	}
	return nil
}

// ageFor returns the age for an enrollment, and the largest of all for an unknown one.
func (a *admission) ageFor(id schema.EnrollmentID) (longest time.Duration) {
	all := a.said()
	if one, known := all[id]; known {
		return one.span
	}
	for _, one := range all {
		longest = max(longest, one.span)
	}
	return longest
}

func (a *admission) read(ctx context.Context) error {
	all, err := a.enrollments.All(ctx)
	if err != nil {
		return err
	}
	say := map[schema.EnrollmentID]admitted{}
	for _, e := range all {
		say[e.ID] = admitted{e.Admits + sas.ClockSkew, sas.StatedInterval(e), e.Others}
	}
	a.all.Store(&say)
	return nil
}

// every returns the interval that an enrollment states; zero: none.
func (a *admission) every(id schema.EnrollmentID) time.Duration { return a.said()[id].every }

// writtenByOthers reports whether somebody writes for the devices of an enrollment. While enrollments are unknown,
// somebody may.
func (a *admission) writtenByOthers(id schema.EnrollmentID) bool {
	all := a.said()
	return all == nil || all[id].others
}

// run reads the enrollments periodically until ctx ends, and keeps the last ones if that fails.
func (a *admission) run(ctx context.Context) error {
	for tick := time.NewTicker(admissionEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		if err := a.read(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "enrollments unavailable, those read before hold", "error", err)
		}
	}
}

// Admits returns how old a row of an enrollment may be when it is stored, for one look at it.
func (f *Fleet) Admits(ctx context.Context) (func(schema.EnrollmentID) time.Duration, error) {
	a := &admission{enrollments: &sas.Enrollments{Table: f.Tables.Table(f.Names.Enrollments())}, log: f.Log}
	err := a.read(ctx)
	return a.ageFor, err
}
