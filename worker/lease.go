package worker

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Lease is a message that this worker holds for a while. It alone knows the message's receipt: every update makes a
// new one and invalidates the one before, so two owners of receipts would take each other for thieves. It is safe for
// concurrent use.
type Lease struct {
	ID    string
	Taken int // how often the message was received, by anybody, including this time

	holder holder
	heed   func(error) // if not nil, is called with errors that a later try made good

	mu      sync.Mutex
	text    string
	receipt string
	until   time.Time // when it ends unless renewed, by our clock and rather early
}

// A holder is the queue that a message is held in. It returns ErrLeaseLost if the receipt is not the newest.
type holder interface {
	update(ctx context.Context, id, receipt, text string, visible time.Duration) (newReceipt string, err error)
	remove(ctx context.Context, id, receipt string) error
}

// Text returns the current text of the message.
func (l *Lease) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// Until returns when the lease ends unless it is renewed.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Renew holds the message for d from now on. After any error but ErrLeaseLost the old lease still runs, and Renew may
// be called again. If the first call was carried out after all, the answer is ErrLeaseLost.
func (l *Lease) Renew(ctx context.Context, d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update(ctx, l.text, d)
}

// Save replaces the text and renews the lease.
func (l *Lease) Save(ctx context.Context, text string, d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update(ctx, text, d)
}

// GiveBack ends the lease: anybody can receive the message again after a while, which may be zero.
func (l *Lease) GiveBack(ctx context.Context, text string, after time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last(ctx, func() error { return l.update(ctx, text, after) })
}

// Delete deletes the message.
func (l *Lease) Delete(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last(ctx, func() error { return l.holder.remove(ctx, l.ID, l.receipt) })
}

func (l *Lease) update(ctx context.Context, text string, d time.Duration) error {
	sent := time.Now()
	receipt, err := l.holder.update(ctx, l.ID, l.receipt, text, d)
	if err != nil {
		return err
	}
	l.text, l.receipt, l.until = text, receipt, sent.Add(d)
	return nil
}

// last tries to end a lease a few times. If an answer was missed and a later one says that the lease is lost, then the
// first request was carried out, or somebody else has the message. Either way this worker no longer holds it, as
// intended.
func (l *Lease) last(ctx context.Context, ask func() error) error {
	const tries = 4
	unheard := false
	for try := 1; ; try++ {
		err := ask()
		switch {
		case err == nil, unheard && errors.Is(err, ErrLeaseLost):
			return nil
		case errors.Is(err, ErrLeaseLost), errors.Is(err, ErrNoQueue), try == tries, ctx.Err() != nil:
			return err
		}
		unheard = unheard || !refused(err)
		if l.heed != nil {
			l.heed(err)
		}
		sleep(ctx, jitter(time.Duration(try)*250*time.Millisecond))
	}
}
