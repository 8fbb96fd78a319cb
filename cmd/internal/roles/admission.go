package roles

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"furrow/sas"
	"furrow/tables/schema"
)

// An admission knows how old a row may be when it is stored, by any token that an
// enrollment has issued: audits of its devices look so far back.
type admission struct {
	enrollments *sas.Enrollments
	log         *slog.Logger
	spans       atomic.Pointer[map[schema.EnrollmentID]time.Duration]
}

// admissionEvery is how often enrollments are looked at. One that is new admits older
// rows than all others from its first token on; a ledger that was cut shorter
// meanwhile has nothing yet of its devices.
const admissionEvery = time.Minute

// of is what was read last of an enrollment; of one that is not known, the longest
// of all.
func (a *admission) of(id schema.EnrollmentID) (longest time.Duration) {
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
	spans := map[schema.EnrollmentID]time.Duration{}
	for _, e := range all {
		spans[e.ID] = e.Admits + sas.ClockSkew
	}
	a.spans.Store(&spans)
	return nil
}

// run reads again and again until ctx ends. What cannot be read stays as it was.
func (a *admission) run(ctx context.Context) error {
	for tick := time.NewTicker(admissionEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		}
		if err := a.read(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "enrollments cannot be read; audits look as far back as before", "error", err)
		}
	}
}
