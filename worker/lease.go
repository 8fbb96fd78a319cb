package worker

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Lease is a message that is ours for a while. It is the one owner of the
// message's receipt: every update makes a new one and ends the one before, so
// that two who knew receipts would take each other for thieves. It is safe for
// concurrent use.
type Lease struct {
	ID    string
	Taken int // how often the message was got, by anybody, this time included

	holder holder
	heed   func(error) // is told of refusals that a later try made good; nil means nobody is

	mu      sync.Mutex
	text    string
	receipt string
	until   time.Time // when it ends if nothing more is done, by our own clock and rather early
}

// A holder is the queue that a message is held in. Its errors are ErrLeaseLost
// where the receipt is not the newest.
type holder interface {
	update(ctx context.Context, id, receipt, text string, visible time.Duration) (newReceipt string, err error)
	remove(ctx context.Context, id, receipt string) error
}

// Text is what the message says now.
func (l *Lease) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// Until is when the lease ends if it is not renewed.
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Renew makes the message ours for d from now on. After an error that is not
// ErrLeaseLost the old lease still runs, and Renew may be called again: if the
// first was heard after all, the answer is ErrLeaseLost.
func (l *Lease) Renew(ctx context.Context, d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update(ctx, l.text, d)
}

// Save gives the message another text and renews the lease.
func (l *Lease) Save(ctx context.Context, text string, d time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update(ctx, text, d)
}

// GiveBack ends the lease: the message can be got again, by anybody, after a
// while, which may be zero.
func (l *Lease) GiveBack(ctx context.Context, text string, after time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last(ctx, func() error { return l.update(ctx, text, after) })
}

// Delete ends the message.
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

// last asks for the end of a lease until there is an answer, a few times. Where
// an answer was missed, a later one that the lease is lost says that the first
// was heard, or that another has the message: it is not ours any more, which
// is what was wanted.
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
