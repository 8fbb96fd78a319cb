package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/sas/device"
)

const (
	// portion is how many readings of the past a device sends before it lets others do
	// so, which bounds how many wait in memory.
	portion = 500
	// behind is how late a device may hand over a reading that is not of the past.
	behind = time.Second
	// holds is how much a device can keep, in bytes. Then it takes no more readings
	// until those have been sent, and makes up for them later.
	holds = 1 << 20
)

// A life is that of a device.
type life struct {
	*runner
	member Member
	client *device.Client
	lane   bool // it is among those that send the past
	fresh  int  // readings that were handed over since the last flush
	denied bool // under the runner's mu
}

// live is a device from its boot until it has nothing to send, or its time is over:
// feeding ends what it measures, living what it sends.
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
	_ = l.client.Flush(living) // what waits still is in the stats
	stop()
	err := errors.Join(<-ended, l.client.Close())
	r.buried(l)
	return err
}

func (l *life) open() (err error) {
	enrollment, key := l.Credential(l.member)
	c := device.Config{Endpoint: l.Endpoint, Device: l.member.ID, Enrollment: string(enrollment), Key: key,
		Transport: l.Transport, MaxBytes: holds, OnReport: l.report, Log: l.Log}
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

func (l *life) report(r device.Report) {
	l.noted(l, r)
	if l.OnReport != nil {
		l.OnReport(l.member, r)
	}
}

// feed hands over what is due, until there is no more or ctx ends.
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

// await waits for a time; where it is past, for a lane. It is false when ctx has ended.
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
		l.leave() // and queues anew, behind others
	}
	return l.enter(ctx)
}

// Pause waits for d, and reports whether ctx has not ended.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
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

// flush waits until what was handed over is stored or reported. A device that is
// stalled lets others pass.
func (l *life) flush(ctx context.Context) {
	l.fresh = 0
	soon, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	if l.client.Flush(soon) == nil || ctx.Err() != nil {
		return
	}
	l.leave()
	_ = l.client.Flush(ctx) // an error is that ctx has ended
}

// send hands over a reading. It is false when ctx has ended.
func (l *life) send(ctx context.Context, r device.Reading) bool {
	l.made()
	err := l.client.Send(r)
	for errors.Is(err, device.ErrFull) && ctx.Err() == nil {
		l.flush(ctx)
		err = l.client.Send(r)
	}
	switch {
	case err == nil:
		l.fresh++
		if l.OnAccepted != nil {
			l.OnAccepted(l.member, r)
		}
	case ctx.Err() == nil:
		l.refused(l, fmt.Errorf("reading of %s: %w", r.Time.Format(time.RFC3339), err))
	}
	return ctx.Err() == nil
}
