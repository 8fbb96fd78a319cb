package queue

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/google/uuid"
)

// A remembered is a message as a model of the queue has it: what the text of
// Azure's pages says, without an index.
type remembered struct {
	order    int
	visible  int64
	expires  int64
	receipt  uint64
	dequeued uint32
	text     string
}

// Random operations end as they end on the model, whose gets look at all messages.
func TestQueueIsItsModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	f.queue("model")
	w := &walk{f: f, random: random, model: map[uuid.UUID]*remembered{}}
	for range 3000 {
		if random.IntN(10) == 0 {
			f.step(time.Duration(random.Int64N(int64(3 * time.Second))))
		}
		must.Succeed(t, f.service.inTransaction("model", w.step))
		if t.Failed() {
			return
		}
	}
	must.Succeed(t, f.service.sweep(t.Context(), &cursor{}))
	now := f.service.clock.read(f.now).ns
	living := 0
	for _, m := range w.model {
		if m.expires > now {
			living++
		}
	}
	// Messages may have expired between the sweep and the look at the clock.
	if n := len(f.records("model")); n < living {
		t.Errorf("%d messages, the model has %d", n, living)
	}
	q, err := f.service.find("model")
	if err != nil || q.tally.count != int64(len(f.records("model"))) {
		t.Errorf("counted %d of %d: %v", q.tally.count, len(f.records("model")), err)
	}
}

type walk struct {
	f      *fixture
	random *rand.Rand
	model  map[uuid.UUID]*remembered
	order  int
}

func (w *walk) step(u *transaction) error {
	for id, m := range w.model {
		if m.expires <= u.now.ns {
			delete(w.model, id)
		}
	}
	later := func() int64 { return u.now.ns + w.random.Int64N(int64(5*time.Second)) }
	switch w.random.IntN(8) {
	case 0, 1, 2:
		visible := u.now.ns
		if w.random.IntN(3) == 0 {
			visible = later()
		}
		text := uuid.NewString()
		m := u.add(visible, visible+1+w.random.Int64N(int64(time.Minute)), []byte(text))
		w.order++
		w.model[m.id] = &remembered{w.order, visible, m.expires, m.receipt, 0, text}
	case 3, 4:
		return w.get(u, 1+w.random.IntN(4), later()+1)
	case 5:
		return w.hold(u, func(m *message, known *remembered) {
			u.hide(m, later())
			known.visible, known.receipt = m.place.at, m.receipt
		})
	case 6:
		return w.hold(u, func(m *message, known *remembered) {
			u.remove(m)
			delete(w.model, m.id)
		})
	default:
		if w.random.IntN(50) == 0 {
			u.clear()
			clear(w.model)
		}
	}
	return nil
}

// due is what the model gives next: the earliest visible, then the earliest put.
func (w *walk) due(now int64, taken map[uuid.UUID]bool) (next uuid.UUID, found bool) {
	for id, m := range w.model {
		best := w.model[next]
		if m.visible <= now && !taken[id] && (!found || m.visible < best.visible || m.visible == best.visible &&
			m.order < best.order) {
			next, found = id, true
		}
	}
	return next, found
}

func (w *walk) get(u *transaction, most int, visible int64) error {
	var want []uuid.UUID
	taken := map[uuid.UUID]bool{}
	for len(want) < most {
		id, found := w.due(u.now.ns, taken)
		if !found {
			break
		}
		want, taken[id] = append(want, id), true
	}
	got, _, err := u.deliver(most, visible)
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		w.f.Errorf("%d messages were given, the model has %d", len(got), len(want))
		return nil
	}
	for i, m := range got {
		known := w.model[want[i]]
		known.dequeued++
		known.visible, known.receipt = visible, m.receipt
		if text, err := u.text(m); err != nil || m.id != want[i] || m.dequeued != known.dequeued ||
			string(text) != known.text {
			w.f.Errorf("message %d is %v, the model has %v (%v)", i, m, known, err)
		}
	}
	return nil
}

// hold does something with some message of the model by its receipt, or finds
// that a wrong receipt is refused.
func (w *walk) hold(u *transaction, f func(*message, *remembered)) error {
	for id, known := range w.model {
		if _, err := u.held(id, known.receipt+1); !errors.Is(err, errReceipt) {
			w.f.Errorf("with a receipt of another message: %v", err)
		}
		m, err := u.held(id, known.receipt)
		if err != nil {
			return err
		}
		f(m, known)
		return nil
	}
	if _, err := u.held(uuid.New(), 1); !errors.Is(err, errMessageNotFound) {
		w.f.Errorf("of a message that never was: %v", err)
	}
	return nil
}
