package roles

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"furrow/sas"
)

// An admission knows how old a row may be when it is stored, by any token that any
// enrollment has issued: audits look so far back, whatever the configuration says.
type admission struct {
	enrollments *sas.Enrollments
	log         *slog.Logger
	span        atomic.Int64 // a time.Duration
}

// admissionEvery is how often enrollments are looked at. One that is new admits older
// rows than all others from its first token on; a ledger that was cut shorter
// meanwhile has nothing yet of its devices.
const admissionEvery = time.Minute

// longest is what was read last.
func (a *admission) longest() time.Duration { return time.Duration(a.span.Load()) }

func (a *admission) read(ctx context.Context) error {
	all, err := a.enrollments.All(ctx)
	if err != nil {
		return err
	}
	var longest time.Duration
	for _, e := range all {
		longest = max(longest, e.Admits)
	}
	if longest > 0 {
		longest += sas.ClockSkew
	}
	a.span.Store(int64(longest))
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
