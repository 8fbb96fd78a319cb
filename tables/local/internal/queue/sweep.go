package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"furrow/tables/local/internal/store"

	"github.com/google/uuid"
)

// Expired messages are never delivered, and an operation that finds them removes
// them. The sweep removes those that no operation finds.
const (
	sweepEvery = 2 * time.Minute
	sweepMost  = 20_000 // records read in one sweep
	sweepTurn  = 500    // records read in one turn
)

// Sweep periodically removes expired messages, until ctx ends. Each sweep reads a
// limited number of records and continues where the last one stopped.
func (s *Service) Sweep(ctx context.Context, log *slog.Logger) {
	var at cursor
	store.Regularly(ctx, sweepEvery, func() {
		if err := s.sweep(ctx, &at); err != nil {
			log.Error("sweep failed", "err", err)
		}
	})
}

// A cursor is the message before which a sweep stopped.
type cursor struct {
	queue   string
	message uuid.UUID
}

// sweep visits the queues in the order of their names, starting at the cursor.
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

// sweepQueue removes expired messages of a queue for one turn, and moves the cursor.
func (s *Service) sweepQueue(at *cursor) (read int, done bool, err error) {
	next := *at
	err = s.inTransaction(at.queue, func(t *transaction) error {
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
