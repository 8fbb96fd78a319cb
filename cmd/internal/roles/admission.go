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
	spans       atomic.Pointer[map[schema.EnrollmentID]time.Duration]
	stated      atomic.Pointer[map[schema.EnrollmentID]time.Duration]
	others      atomic.Pointer[map[schema.EnrollmentID]bool]
}

// admissionEvery is how often enrollments are read. A new enrollment may admit older rows than all others; a ledger
// that is cut shorter before that has no rows of its devices yet.
const admissionEvery = time.Minute

// ageFor returns the age for an enrollment, and the largest of all for an unknown one.
func (a *admission) ageFor(id schema.EnrollmentID) (longest time.Duration) {
	spans := a.spans.Load()
	if spans == nil {
		return 0
	}
	if span, known := (*spans)[id]; known {
		return span
	}
	for _, span := range *spans {
		longest = max(longest, span)
	}
	return longest
}

func (a *admission) read(ctx context.Context) error {
	all, err := a.enrollments.All(ctx)
	if err != nil {
		return err
	}
	spans, stated := map[schema.EnrollmentID]time.Duration{}, map[schema.EnrollmentID]time.Duration{}
	others := map[schema.EnrollmentID]bool{}
	for _, e := range all {
		spans[e.ID], stated[e.ID] = e.Admits+sas.ClockSkew, sas.StatedInterval(e)
		others[e.ID] = e.Others
	}
	a.spans.Store(&spans)
	a.stated.Store(&stated)
	a.others.Store(&others)
	return nil
}

// every returns the interval that an enrollment states; zero: none.
func (a *admission) every(id schema.EnrollmentID) time.Duration {
	if stated := a.stated.Load(); stated != nil {
		return (*stated)[id]
	}
	return 0
}

// writtenByOthers reports whether somebody writes for the devices of an enrollment. While enrollments are unknown,
// somebody may.
func (a *admission) writtenByOthers(id schema.EnrollmentID) bool {
	others := a.others.Load()
	return others == nil || (*others)[id]
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
