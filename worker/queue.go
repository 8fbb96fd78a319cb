package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/jobs"
	"furrow/tables/schema"
	"furrow/tables/service"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// MaxGet is the maximum number of messages that one request receives or peeks. learn.microsoft.com: "Get Messages",
// numofmessages.
const MaxGet = 32

// A Queue is the three queues of a pipeline: live work, catch-up work, and poison (messages that the pipeline could not
// process). Its errors name the queue and the operation. It is safe for concurrent use.
type Queue struct {
	jobs, catchup, poison messages

	fresh [2]chan struct{} // hold a token after a live or catch-up message was put without a delay
}

// Queue returns the queues of a pipeline, which need not exist yet. Whoever asks gets the same Queue, so that pools
// know at once what a scheduler or a person has put.
func (c *Client) Queue(n schema.Names, p schema.Pipeline) *Queue {
	q, _ := c.queues.LoadOrStore(n.Jobs(p), c.queue(n, p))
	return q.(*Queue)
}

func (c *Client) queue(n schema.Names, p schema.Pipeline) *Queue {
	return &Queue{jobs: c.messages(n.Jobs(p)), catchup: c.messages(n.Catchup(p)), poison: c.messages(n.Poison(p)),
		fresh: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
}

// Name returns the name of the live queue.
func (q *Queue) Name() string { return q.jobs.name }

func (q *Queue) all() []messages { return []messages{q.jobs, q.catchup, q.poison} }

// Create creates the queues that do not exist.
func (q *Queue) Create(ctx context.Context) error {
	var err error
	for _, m := range q.all() {
		err = errors.Join(err, m.create(ctx))
	}
	return err
}

// DeleteQueues deletes the existing queues with all their messages. Azure refuses to create them again for half a
// minute or more.
func (q *Queue) DeleteQueues(ctx context.Context) error {
	var err error
	for _, m := range q.all() {
		err = errors.Join(err, m.delete(ctx))
	}
	return err
}

// Put puts a message into the live queue, or into the catch-up queue if m.CatchUp says so. It becomes visible after the
// delay, and never expires. If an answer is lost, it may be put twice.
func (q *Queue) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	m.Taken = 0 // the new message has its own count
	text, err := m.Encode()
	if err != nil {
		return err
	}
	to, who := q.jobs, live
	if m.CatchUp() {
		to, who = q.catchup, catchup
	}
	err = to.put(ctx, text, delay)
	if delay == 0 {
		poke(q.fresh[who])
	}
	return err
}

// Get receives up to n live messages, at most MaxGet, and holds them for a lease, which has whole seconds. It returns
// at once, with none if there are none.
func (q *Queue) Get(ctx context.Context, n int, lease time.Duration) ([]*Lease, error) {
	return q.jobs.get(ctx, n, lease)
}

// GetCatchup is Get for the catch-up queue.
func (q *Queue) GetCatchup(ctx context.Context, n int, lease time.Duration) ([]*Lease, error) {
	return q.catchup.get(ctx, n, lease)
}

// Fresh receives after live or catch-up messages were put through this Queue, so a Pool that shares it need not wait
// for its next look.
func (q *Queue) Fresh() (live, catchup <-chan struct{}) { return q.fresh[0], q.fresh[1] }

// Depth returns about how many live messages there are, including leased and delayed ones.
func (q *Queue) Depth(ctx context.Context) (int, error) { return q.jobs.depth(ctx) }

// CatchupDepth is Depth for the catch-up queue.
func (q *Queue) CatchupDepth(ctx context.Context) (int, error) { return q.catchup.depth(ctx) }

// messages is one queue.
type messages struct {
	name  string
	queue *azqueue.QueueClient
	try   time.Duration
}

func (c *Client) messages(name string) messages {
	return messages{name: name, queue: c.service.NewQueueClient(name), try: c.try}
}

func (q messages) create(ctx context.Context) error {
	_, err := q.queue.Create(service.Within(ctx, OpCreate), nil)
	return q.failed(OpCreate, err)
}

func (q messages) delete(ctx context.Context) error {
	_, err := q.queue.Delete(service.Within(ctx, OpDeleteQueue), nil)
	if err = q.failed(OpDeleteQueue, err); errors.Is(err, ErrNoQueue) {
		return nil
	}
	return err
}

func (q messages) put(ctx context.Context, text string, delay time.Duration) error {
	_, err := q.queue.EnqueueMessage(service.Within(ctx, OpPut), text, &azqueue.EnqueueMessageOptions{
		TimeToLive: new(int32(-1)), VisibilityTimeout: seconds(delay),
	})
	return q.failed(OpPut, err)
}

func (q messages) get(ctx context.Context, n int, lease time.Duration) ([]*Lease, error) {
	until := time.Now().Add(lease)
	resp, err := q.queue.DequeueMessages(service.Within(ctx, OpGet), &azqueue.DequeueMessagesOptions{
		NumberOfMessages: new(int32(min(n, MaxGet))), VisibilityTimeout: seconds(lease),
	})
	if err != nil {
		return nil, q.failed(OpGet, err)
	}
	var got []*Lease
	for _, m := range resp.Messages {
		if m.MessageID == nil || m.PopReceipt == nil {
			return got, q.failed(OpGet, errors.New("a message has no id or no receipt"))
		}
		got = append(got, &Lease{
			ID: *m.MessageID, Taken: int(value(m.DequeueCount)), holder: q,
			text: value(m.MessageText), receipt: *m.PopReceipt, until: until,
		})
	}
	return got, nil
}

// update always sends a visibility timeout and the text: the SDK's default timeout is zero, and whatever text is sent
// replaces the message's. It is sent once, because a repeat of a request that was carried out would look like a
// thief's.
func (q messages) update(ctx context.Context, id, receipt, text string, visible time.Duration) (string, error) {
	resp, err := q.queue.UpdateMessage(service.Within(q.once(ctx), OpUpdate), id, receipt, text,
		&azqueue.UpdateMessageOptions{VisibilityTimeout: seconds(visible)})
	if err == nil && resp.PopReceipt == nil {
		err = errors.New("the answer has no receipt")
	}
	if err != nil {
		return "", q.failed(OpUpdate, err)
	}
	return *resp.PopReceipt, nil
}

func (q messages) remove(ctx context.Context, id, receipt string) error {
	_, err := q.queue.DeleteMessage(service.Within(q.once(ctx), OpDelete), id, receipt, nil)
	return q.failed(OpDelete, err)
}

func (q messages) depth(ctx context.Context) (int, error) {
	resp, err := q.queue.GetProperties(service.Within(ctx, OpDepth), nil)
	if err != nil {
		return 0, q.failed(OpDepth, err)
	}
	return int(value(resp.ApproximateMessagesCount)), nil
}

// once returns a context in which the SDK does not retry.
func (q messages) once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1, TryTimeout: q.try})
}

// failed adds the operation and the queue to err.
func (q messages) failed(k OperationKind, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: queue %s: %w", k, q.name, named(err))
}

// seconds rounds up, so that a lease does not end early.
func seconds(d time.Duration) *int32 {
	return new(int32((d + time.Second - 1) / time.Second))
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
