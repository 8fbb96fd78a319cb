package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/refold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A fakeQueue is a queue like Azure's on the clock of the test, with receipts, visibility and counts of gets. Hooks let
// operations fail or wait.
type fakeQueue struct {
	before func(op string) error // an error from it is the answer, and the operation is not done
	after  func(op string) error // an error from it is the answer, although the operation is done

	mu       sync.Mutex
	messages []*fakeMessage
	poison   []Poisoned
	receipts int
	gets     []time.Time
	updates  []time.Time
	deleted  int
	catchup  *fakeQueue // made when it is first asked for
	fresh    [2]chan struct{}
}

type fakeMessage struct {
	id, text, receipt string
	visible           time.Time
	taken             int
}

// do runs one operation between its hooks.
func (q *fakeQueue) do(op string, f func() error) error {
	if err := hook(q.before, op); err != nil {
		return err
	}
	q.mu.Lock()
	err := f()
	q.mu.Unlock()
	if err == nil {
		err = hook(q.after, op)
	}
	return err
}

func (q *fakeQueue) putText(text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = append(q.messages, &fakeMessage{id: fmt.Sprint("m", len(q.messages)), text: text})
}

// history returns the catch-up queue, which uses the hooks of q.
func (q *fakeQueue) history() *fakeQueue {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.catchup == nil {
		q.fresh = [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}
		q.catchup = &fakeQueue{
			before: func(op string) error { return hook(q.before, "catchup "+op) },
			after:  func(op string) error { return hook(q.after, "catchup "+op) },
		}
	}
	return q.catchup
}

func hook(f func(string) error, op string) error {
	if f == nil {
		return nil
	}
	return f(op)
}

func (q *fakeQueue) GetCatchup(ctx context.Context, n int, lease time.Duration) ([]*Lease, error) {
	return q.history().Get(ctx, n, lease)
}

func (q *fakeQueue) CatchupDepth(ctx context.Context) (int, error) { return q.history().Depth(ctx) }

func (q *fakeQueue) Fresh() (live, catchup <-chan struct{}) {
	q.history()
	return q.fresh[0], q.fresh[1]
}

func (q *fakeQueue) Put(_ context.Context, m jobs.Message, delay time.Duration) error {
	if m.CatchUp() {
		defer poke(q.fresh[1])
		return q.history().add(m, delay)
	}
	q.history()
	if delay == 0 {
		defer poke(q.fresh[0])
	}
	return q.add(m, delay)
}

func (q *fakeQueue) add(m jobs.Message, delay time.Duration) error {
	m.Taken = 0
	text, err := m.Encode()
	if err != nil {
		return err
	}
	return q.do("put", func() error {
		q.messages = append(q.messages, &fakeMessage{id: fmt.Sprint("m", len(q.messages)), text: text,
			visible: time.Now().Add(delay)})
		return nil
	})
}

func (q *fakeQueue) Depth(context.Context) (n int, err error) {
	err = q.do("depth", func() error {
		n = len(q.messages) - q.deleted
		return nil
	})
	return n, err
}

func (q *fakeQueue) Get(_ context.Context, n int, lease time.Duration) (got []*Lease, err error) {
	err = q.do("get", func() error {
		q.gets = append(q.gets, time.Now())
		for _, m := range q.messages {
			if len(got) == n || m.id == "" || m.visible.After(time.Now()) {
				continue
			}
			q.receipts++
			m.receipt, m.visible = fmt.Sprint("r", q.receipts), time.Now().Add(lease)
			m.taken++
			got = append(got, &Lease{ID: m.id, Taken: m.taken, holder: q, text: m.text, receipt: m.receipt, until: m.visible})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

func (q *fakeQueue) find(id, receipt string) (*fakeMessage, error) {
	for _, m := range q.messages {
		if m.id == id && m.receipt == receipt {
			return m, nil
		}
	}
	return nil, fmt.Errorf("fake: %w", ErrLeaseLost)
}

func (q *fakeQueue) update(_ context.Context, id, receipt, text string, visible time.Duration) (fresh string,
	err error) {
	err = q.do("update", func() error {
		m, err := q.find(id, receipt)
		if err != nil {
			return err
		}
		q.updates = append(q.updates, time.Now())
		q.receipts++
		fresh = fmt.Sprint("r", q.receipts)
		m.text, m.receipt, m.visible = text, fresh, time.Now().Add(visible)
		return nil
	})
	return fresh, err
}

func (q *fakeQueue) remove(_ context.Context, id, receipt string) error {
	return q.do("delete", func() error {
		m, err := q.find(id, receipt)
		if err == nil {
			m.id = ""
			q.deleted++
		}
		return err
	})
}

func (q *fakeQueue) Poison(_ context.Context, p Poisoned) error {
	return q.do("poison", func() error {
		q.poison = append(q.poison, p)
		return nil
	})
}

// steal receives every message like another worker, in spite of leases.
func (q *fakeQueue) steal(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.messages {
		q.receipts++
		m.receipt, m.visible = fmt.Sprint("r", q.receipts), time.Now().Add(d)
		m.taken++
	}
}

// seen returns the number of looks at the queue so far, and the poison messages.
func (q *fakeQueue) seen() (looks int, poison []Poisoned) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.gets), slices.Clone(q.poison)
}

// first returns the message that was put first.
func (q *fakeQueue) first(t *testing.T) (jobs.Message, fakeMessage) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	m := must.Have(jobs.Decode(q.messages[0].text))(t)
	return m, *q.messages[0]
}

// monthJob is a message that can have progress.
func monthJob() jobs.Message {
	return jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: 639307630200000000, Month: schema.Month{Year: 2026,
		Month: time.November}}
}

// place returns where a device is in the fleet.
func place(d string) schema.Place {
	return schema.Member{Month: schema.Month{Year: 2026, Month: time.November}, Tenant: "t",
		Device: schema.DeviceID(d)}.Place()
}

// deviceJob is a batch of one device.
func deviceJob(n int) jobs.Message {
	m := monthJob()
	m.Kind, m.First = jobs.Device, place(fmt.Sprintf("d%03d", n))
	m.Month, m.Last = schema.Month{}, m.First
	return m
}

// auditJob is a batch of one device that is for the catch-up queue.
func auditJob(n int) jobs.Message {
	m := deviceJob(n)
	m.Kind, m.Audit = jobs.Audit, refold.Full
	return m
}

// queueOf is a queue with messages.
func queueOf(t *testing.T, all ...jobs.Message) *fakeQueue {
	t.Helper()
	q := &fakeQueue{}
	q.fill(t, all...)
	return q
}

func (q *fakeQueue) fill(t *testing.T, all ...jobs.Message) {
	t.Helper()
	for _, m := range all {
		must.Succeed(t, q.Put(t.Context(), m, 0))
	}
}

func many(n int, job func(n int) jobs.Message) (all []jobs.Message) {
	for i := range n {
		all = append(all, job(i))
	}
	return all
}

// failing is a hook that fails an operation with err.
func failing(op string, err error, when func() bool) func(string) error {
	return func(done string) error {
		if done == op && when() {
			return err
		}
		return nil
	}
}

// start runs a pool, a scheduler or figures until the function that it returns is called.
func start(t testing.TB, ctx context.Context, r interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() { cancel(); running.Wait() }
}

func runFor(t *testing.T, r interface{ Run(context.Context) error }, d time.Duration) {
	t.Helper()
	stop := start(t, t.Context(), r)
	time.Sleep(d)
	stop()
}
