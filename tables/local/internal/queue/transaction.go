package queue

import (
	"cmp"
	"fmt"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"

	"github.com/google/uuid"
)

// A transaction is an operation on a queue under its lock. Its changes of the tally and the
// head take effect only if the whole operation succeeds.
type transaction struct {
	store *store.Store
	b     *store.Batch
	id    store.ID
	now   instant
	tally tally
	head  place

	policies []auth.Policy
}

// recheck checks a SAS again, because the body may have taken long to arrive.
func (t *transaction) recheck(g *auth.Grant) error {
	return g.Recheck(t.policies, t.now.shown(t.now.ns))
}

// inTransaction runs f in a transaction of a queue and stores its changes, as described for with.
func (s *Service) inTransaction(name string, f func(*transaction) error) error {
	return s.with(name, func(q *queue) (func() error, error) {
		t := &transaction{s.store, s.store.Batch(), q.record.ID, s.clock.read(s.now), q.tally, q.head,
			q.record.Policies}
		if err := f(t); err != nil {
			return nil, cmp.Or(t.b.Drop(), err)
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
func (t *transaction) add(visible, expires int64, text []byte) *message {
	id := uuid.Must(uuid.NewV7()) // starts with the time, so messages that arrive together are stored together
	m := &message{id: id, inserted: t.now.ns, expires: expires,
		place: place{visible, t.tally.draw()}, receipt: t.tally.draw()}
	t.tally.count++
	t.b.Set(textKey(t.id, m.id), text)
	t.set(m)
	return m
}

// set stores a message's record and place, and moves the head back if necessary.
func (t *transaction) set(m *message) {
	t.b.Set(messageKey(t.id, m.id), m.encode())
	t.b.Set(placeKey(t.id, m.place), m.id[:])
	if m.place.before(t.head) {
		t.head = m.place
	}
}

// hide sets a new receipt and the time at which a message becomes visible.
func (t *transaction) hide(m *message, visible int64) {
	t.b.Delete(placeKey(t.id, m.place))
	m.place.at = visible
	m.receipt = t.tally.draw()
	t.set(m)
}

// remove deletes a message.
func (t *transaction) remove(m *message) {
	t.b.Delete(messageKey(t.id, m.id))
	t.b.Delete(textKey(t.id, m.id))
	t.b.Delete(placeKey(t.id, m.place))
	t.tally.count--
}

// clear deletes all messages.
func (t *transaction) clear() {
	if t.tally.count == 0 {
		return
	}
	deleteMessages(t.b, t.id)
	t.tally.count = 0
}

// message reads a message's record.
func (t *transaction) message(id uuid.UUID) (m *message, found bool, err error) {
	value, found, err := t.store.Get(messageKey(t.id, id))
	if err != nil || !found {
		return nil, false, err
	}
	m = &message{id: id}
	return m, true, m.decode(value)
}

// held reads the message that a client holds by a receipt. It refuses a receipt that
// has been replaced, and a message that is deleted or expired.
func (t *transaction) held(id uuid.UUID, receipt uint64) (*message, error) {
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
func (t *transaction) text(m *message) ([]byte, error) {
	text, found, err := t.store.Get(textKey(t.id, m.id))
	if err == nil && !found {
		err = fmt.Errorf("message %s has no text", m.id)
	}
	return text, err
}

// maxExpired is how many expired messages one turn removes, because others wait.
const maxExpired = 1000

// due returns up to most visible messages in order, and the place where it stopped.
// It removes expired messages on the way; more is true if it stopped because of them.
//
// It starts at the head. Before the head there are only the keys of messages that
// were delivered or deleted, which the store steps over one by one until it compacts
// them: a queue in steady use has thousands. The head moves past each of these dead
// keys once, and only a write moves it back.
func (t *transaction) due(most int) (found []*message, after place, more bool, err error) {
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

// peek returns up to most messages without changing them.
func (t *transaction) peek(most int) (found []*message, more bool, err error) {
	found, t.head, more, err = t.due(most)
	if len(found) > 0 {
		t.head = found[0].place
	}
	return found, more, err
}

// deliver delivers up to most messages, which are invisible until visible.
func (t *transaction) deliver(most int, visible int64) (found []*message, more bool, err error) {
	found, t.head, more, err = t.due(most)
	for _, m := range found {
		m.dequeued++
		t.hide(m, visible)
	}
	return found, more, err
}

// indexed reads the message of an index entry.
func (t *transaction) indexed(key, value []byte) (*message, error) {
	id, err := uuid.FromBytes(value)
	if err != nil {
		return nil, err
	}
	m, found, err := t.message(id)
	if err == nil && (!found || m.place != placeOf(key[1+8:])) {
		err = fmt.Errorf("the index and the record of message %s disagree", id)
	}
	return m, err
}
