package jobs

import (
	"context"
	"fmt"
	"time"

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
	put = inFormat{put, p.Format}
	if m.isDeadly() {
		return p.disarm(ctx, m, put)
	}
	switch m.Kind {
	case Master:
		return p.master(ctx, m, put, save)
	case Month:
		return p.month(ctx, m, put, save)
	case Device:
		return p.device(ctx, m, put)
	case Audit:
		return p.audit(ctx, m, put)
	case Deliver:
		return p.deliver(ctx, m, put)
	case Group:
		return p.group(ctx, m, put)
	}
	return Result{}, fmt.Errorf("%w: kind %s is not known", ErrUnreadable, tables.Quote(string(m.Kind)))
}

// inFormat puts messages in the format that the configuration requires.
type inFormat struct {
	Putter
	format int64
}

func (f inFormat) Put(ctx context.Context, m Message, delay time.Duration) error {
	m.Format = f.format
	return f.Putter.Put(ctx, m, delay)
}
