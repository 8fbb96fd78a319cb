package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"furrow/tables/local/internal/store"

	"github.com/google/uuid"
)

// Expired messages are never given out, and an operation that comes upon them
// removes them. A sweep finds those that none comes upon.
const (
	sweepEvery = 2 * time.Minute
	sweepMost  = 20_000 // records read in one sweep
	sweepTurn  = 500    // records read in one turn with a queue
)

// Sweep removes expired messages from time to time, until ctx ends. A sweep reads
// a bounded number of records, and the next goes on where it stopped.
func (s *Service) Sweep(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	var at cursor
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.sweep(ctx, &at); err != nil {
			log.Error("sweep of expired messages", "err", err)
		}
	}
}

// A cursor is where a sweep stopped: before a message of a queue.
type cursor struct {
	queue   string
	message uuid.UUID
}

// sweep goes over the queues in the order of their names, from the cursor on.
func (s *Service) sweep(ctx context.Context, at *cursor) error {
	for read := 0; read < sweepMost && ctx.Err() == nil; {
		queues, next, err := s.page("", at.queue, 1)
		if err != nil {
			return err
		}
		if len(queues) == 0 {
			*at = cursor{}
			return nil
		}
		if queues[0].Name != at.queue {
			*at = cursor{queue: queues[0].Name}
		}
		n, done, err := s.sweepQueue(at)
		if err != nil {
			return err
		}
		read += n + 1
		if done {
			*at = cursor{queue: next}
			if next == "" {
				return nil
			}
		}
	}
	return nil
}

// sweepQueue reads a turn's worth of a queue's messages, removes those that
// expired, and moves the cursor.
func (s *Service) sweepQueue(at *cursor) (read int, done bool, err error) {
	next := *at
	err = s.turn(at.queue, func(t *turn) error {
		for e, err := range t.store.Walk(messageKey(t.id, at.message), store.After(t.id.Key(store.PrefixMessage))) {
			if err != nil {
				return err
			}
			m := &message{id: uuid.UUID(e.Key[1+8:])}
			if read++; read > sweepTurn {
				next.message = m.id
				return nil
			}
			if err := m.decode(e.Value); err != nil {
				return err
			}
			if m.expires <= t.now.ns {
				t.remove(m)
			}
		}
		done = true
		return nil
	})
	if errors.Is(err, errQueueNotFound) { // deleted meanwhile
		return read, true, nil
	}
	*at = next
	return read, done, err
}
