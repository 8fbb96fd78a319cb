package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/sas/device"
)

const (
	// portion is how many old readings a device sends before another device gets its lane. It bounds the
	// readings in memory.
	portion = 500
	// behind is how late a reading may be sent without a lane.
	behind = time.Second
	// holds is how many bytes a device keeps. When they are full, it takes no readings until some are sent.
	holds = 1 << 20
	// pollEvery is how often devices that take commands read them: more often than real ones, for people who wait.
	pollEvery = 10 * time.Second
)

// A life is a running device.
type life struct {
	*runner
	member Member
	client *device.Client
	lane   bool // it may send old readings
	fresh  int  // readings since the last flush
	denied bool // under the runner's mu
}

// live runs a device until it has nothing left to send. When feeding ends, it takes no more readings; when living
// ends, it stops sending.
func (r *runner) live(feeding, living context.Context, m Member, fed func()) error {
	l := &life{runner: r, member: m}
	if err := l.open(); err != nil {
		fed()
		return err
	}
	running, stop := context.WithCancel(living)
	ended := make(chan error, 1)
	go func() { ended <- l.client.Run(running) }()
	l.feed(feeding)
	fed()
	_ = l.client.Flush(living) // the stats count what still waits
	stop()
	err := errors.Join(<-ended, l.client.Close())
	r.buried(l)
	return err
}

func (l *life) open() (err error) {
	enrollment, key := l.Credential(l.member)
	c := device.Config{Endpoint: l.Endpoint, Device: l.member.ID, Enrollment: string(enrollment), Key: key,
		Transport: l.Transport, MaxBytes: holds, OnReport: func(r device.Report) { l.noted(l, r) }, Log: l.Log}
	if l.OnCommand != nil {
		c.PollEvery = pollEvery
		c.OnCommand = func(_ context.Context, told device.Command) (any, error) { return l.OnCommand(l.member, told) }
	}
	if l.Wall != nil {
		c.Wall = l.Wall(l.member)
	}
	if l.client, err = device.Open(c); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive[l] = true
	return nil
}

// feed sends readings when they are due, until ctx ends.
func (l *life) feed(ctx context.Context) {
	defer l.leave()
	for s := range l.Sendings(l.member) {
		if !l.await(ctx, l.when(s.Due)) || !l.send(ctx, s.Reading) {
			return
		}
	}
	if l.lane {
		l.flush(ctx)
	}
}

// await waits until a time, or for a lane if that is past. It returns false when ctx has ended.
func (l *life) await(ctx context.Context, at time.Time) bool {
	switch wait := time.Until(at); {
	case wait > -behind:
		if l.lane && wait > 0 { // it has caught up
			l.flush(ctx)
			l.leave()
			wait = time.Until(at)
		}
		return Pause(ctx, wait)
	case l.fresh >= portion:
		l.flush(ctx)
		l.leave() // and wait for a lane behind others
	}
	return l.enter(ctx)
}

// Pause waits for d. It returns false when ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func (l *life) enter(ctx context.Context) bool {
	if l.lane {
		return ctx.Err() == nil
	}
	select {
	case l.lanes <- struct{}{}:
		l.lane = true
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *life) leave() {
	if l.lane {
		<-l.lanes
		l.lane = false
	}
}

// flush waits until all readings are stored or reported. A stalled device gives up its lane.
func (l *life) flush(ctx context.Context) {
	l.fresh = 0
	soon, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	if l.client.Flush(soon) == nil || ctx.Err() != nil {
		return
	}
	l.leave()
	_ = l.client.Flush(ctx) // fails only if ctx has ended
}

// send gives a reading to the client. It returns false when ctx has ended.
func (l *life) send(ctx context.Context, r device.Reading) bool {
	err := l.client.Send(r)
	for errors.Is(err, device.ErrFull) && ctx.Err() == nil {
		l.flush(ctx)
		err = l.client.Send(r)
	}
	switch {
	case err == nil:
		l.made()
		l.fresh++
		if l.OnAccepted != nil {
			l.OnAccepted(l.member, r)
		}
	case ctx.Err() == nil:
		l.refused(l, fmt.Errorf("reading of %s: %w", r.Time.Format(time.RFC3339), err))
	}
	return ctx.Err() == nil
}
