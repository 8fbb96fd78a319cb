package jobs

import (
	"context"
	"fmt"

	"furrow/tables"
)

// Do does the job that a message asks for. It saves progress with save, and puts further messages with put. Repeated,
// or continued after any part of it, it does what is left. The messages that it saves and puts carry the newer
// generation of the message's and the pipeline's.
func (p *Pipeline) Do(ctx context.Context, m Message, put Putter, save Save) (Result, error) {
	if m.Pipeline != p.Name {
		return Result{}, fmt.Errorf("%w: it belongs to pipeline %s, not %s", ErrUnreadable, m.Pipeline, p.Name)
	}
	m.Generation = max(m.Generation, p.Generation)
	j := job{p, inFormat{put, p.Format}, m, save}
	if m.isDeadly() {
		return j.disarm(ctx)
	}
	switch m.Kind {
	case Master:
		return j.master(ctx)
	case Month:
		return j.month(ctx)
	case Device:
		return j.device(ctx)
	case Audit:
		return j.audit(ctx)
	case Deliver:
		return j.deliver(ctx)
	case Group:
		return j.group(ctx)
	}
	return Result{}, fmt.Errorf("%w: kind %s is not known", ErrUnreadable, tables.Quote(string(m.Kind)))
}
