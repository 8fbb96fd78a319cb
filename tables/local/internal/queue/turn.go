package queue

import (
	"fmt"

	"furrow/tables/local/internal/store"

	"github.com/google/uuid"
)

// A turn is one operation's time alone with a queue. What it does to the queue's
// tally and head holds only if the whole operation succeeds.
type turn struct {
	store *store.Store
	b     *store.Batch
	id    store.ID
	now   instant
	tally tally
	head  place
}

// turn runs f in a turn of a queue and stores what it did, as with describes.
func (s *Service) turn(name string, f func(*turn) error) error {
	return s.with(name, func(q *queue) (func() error, error) {
		t := &turn{s.store, s.store.Batch(), q.record.ID, s.clock.read(s.now), q.tally, q.head}
		if err := f(t); err != nil {
			if dropErr := t.b.Drop(); dropErr != nil {
				return nil, dropErr
			}
			return nil, err
		}
		q.head = t.head
		if t.tally == q.tally { // every change draws a number or changes the count
			return nil, t.b.Drop()
		}
		q.tally = t.tally
		t.b.Set(t.id.Key(store.PrefixTally), t.tally.encode(t.now.ns))
		return s.store.Apply(t.b), nil
	})
}

// add stores a new message.
func (t *turn) add(visible, expires int64, text []byte) *message {
	id := uuid.Must(uuid.NewV7()) // begins with the time: messages that come together are stored together
	m := &message{id: id, inserted: t.now.ns, expires: expires,
		place: place{visible, t.tally.draw()}, receipt: t.tally.draw()}
	t.tally.count++
	t.b.Set(textKey(t.id, m.id), text)
	t.set(m)
	return m
}

// set stores a message's record and its place, to which the head gives way.
func (t *turn) set(m *message) {
	t.b.Set(messageKey(t.id, m.id), m.encode())
	t.b.Set(placeKey(t.id, m.place), m.id[:])
	if m.place.before(t.head) {
		t.head = m.place
	}
}

// hide gives a message a new receipt, and a new time at which it is visible.
func (t *turn) hide(m *message, visible int64) {
	t.b.Delete(placeKey(t.id, m.place))
	m.place.at = visible
	m.receipt = t.tally.draw()
	t.set(m)
}

// remove deletes a message.
func (t *turn) remove(m *message) {
	t.b.Delete(messageKey(t.id, m.id))
	t.b.Delete(textKey(t.id, m.id))
	t.b.Delete(placeKey(t.id, m.place))
	t.tally.count--
}

// clear deletes all messages.
func (t *turn) clear() {
	if t.tally.count == 0 {
		return
	}
	deleteMessages(t.b, t.id)
	t.tally.count = 0
}

// message reads a message's record.
func (t *turn) message(id uuid.UUID) (m *message, found bool, err error) {
	value, found, err := t.store.Get(messageKey(t.id, id))
	if err != nil || !found {
		return nil, false, err
	}
	m = &message{id: id}
	return m, true, m.decode(value)
}

// held reads a message that a client holds by a receipt. A receipt that was
// replaced since is refused, and so is a message that is gone or expired.
func (t *turn) held(id uuid.UUID, receipt uint64) (*message, error) {
	m, found, err := t.message(id)
	if err != nil {
		return nil, err
	}
	if !found || m.expires <= t.now.ns {
		return nil, errMessageNotFound
	}
	if m.receipt != receipt {
		return nil, errReceipt
	}
	return m, nil
}

// text reads a message's text.
func (t *turn) text(m *message) ([]byte, error) {
	text, found, err := t.store.Get(textKey(t.id, m.id))
	if err == nil && !found {
		err = fmt.Errorf("message %s has no text", m.id)
	}
	return text, err
}

// maxExpired bounds the expired messages that one turn removes, since others wait.
const maxExpired = 1000

// due gives up to most messages that are visible, in order, and the place after
// the walk. It removes the expired ones on its way, and where it had to stop for
// those, more holds.
//
// It starts at the head. Before it there are only the keys of messages that were
// given out or deleted, which the store walks over one by one until it compacts
// them: a queue in steady use has thousands. So every dead key is walked over
// once: the head moves past it, and only a write moves the head back.
func (t *turn) due(most int) (found []*message, after place, more bool, err error) {
	end := place{at: t.now.ns + 1}
	if !t.head.before(end) {
		return nil, t.head, false, nil
	}
	it, err := t.store.Iter(placeKey(t.id, t.head), placeKey(t.id, end))
	if err != nil {
		return nil, end, false, err
	}
	defer it.Close()
	expired := 0
	for it.First(); it.Valid(); it.Next() {
		if len(found) == most || expired == maxExpired {
			return found, placeOf(it.Key()[1+8:]), expired == maxExpired, nil
		}
		m, err := t.indexed(it.Key(), it.Value())
		if err != nil {
			return nil, end, false, err
		}
		if m.expires > t.now.ns {
			found = append(found, m)
			continue
		}
		t.remove(m)
		expired++
	}
	return found, end, false, it.Error()
}

// peek gives up to most messages and leaves them as they are.
func (t *turn) peek(most int) (found []*message, more bool, err error) {
	found, t.head, more, err = t.due(most)
	if len(found) > 0 {
		t.head = found[0].place
	}
	return found, more, err
}

// take gives out up to most messages: they are invisible until then.
func (t *turn) take(most int, visible int64) (found []*message, more bool, err error) {
	found, t.head, more, err = t.due(most)
	for _, m := range found {
		m.dequeued++
		t.hide(m, visible)
	}
	return found, more, err
}

// indexed reads the message that an index key and its value name.
func (t *turn) indexed(key, value []byte) (*message, error) {
	id, err := uuid.FromBytes(value)
	if err != nil {
		return nil, err
	}
	m, found, err := t.message(id)
	if err == nil && (!found || m.place != placeOf(key[1+8:])) {
		err = fmt.Errorf("the index names message %s, whose record says otherwise", id)
	}
	return m, err
}
