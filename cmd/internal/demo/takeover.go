package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
)

// A Takeover is how it went on when a worker was killed.
type Takeover struct {
	Killed  int `json:"killedProcess"`
	By      int `json:"byProcess"`
	Stored  int `json:"storedThen"`    // readings, when it was killed
	Devices int `json:"devicesInHand"` // that it had claimed, and not committed

	// From the kill until another worker had committed one of those devices, and all. Where it
	// had none in hand: until another had committed any device.
	First float64 `json:"firstSeconds"`
	All   float64 `json:"allSeconds"`

	Lease float64 `json:"leaseSeconds"` // after which a dead worker's messages are another's
}

const (
	// killAt is which part of the readings is stored when the worker is killed.
	killAt = 0.45
	// mostWait is how long it may take until the worker is seen at work, and until its
	// devices are another's.
	mostWait = 2 * time.Minute
)

// takeOver kills the first worker amid its work, and starts another.
func (d *Demo) takeOver(ctx context.Context, first *process, failed context.CancelCauseFunc) (t Takeover, err error) {
	if err := d.awaitWork(ctx); err != nil {
		return t, err
	}
	killed := time.Now()
	if err := first.kill(); err != nil {
		return t, err
	}
	_, t.Stored = d.receipts.Told()
	t.Killed, t.Lease = first.pid(), lease.Seconds()
	before, err := d.tracks(ctx)
	if err != nil {
		return t, err
	}
	inHand := map[tables.DeviceID]string{} // the killed worker's claims
	for id, row := range before {
		if row.open() {
			inHand[id] = row.claim
		}
	}
	t.Devices = len(inHand)
	d.Screen.Say(fmt.Sprintf("worker 1 is killed, with %d devices in hand", t.Devices))
	second, err := d.work(failed)
	if err != nil {
		return t, err
	}
	t.By = second.pid()
	if t.First, t.All, err = d.awaitOther(ctx, killed, before, inHand); err != nil {
		return t, err
	}
	d.Screen.Say(fmt.Sprintf("worker 2 had the first of them done after %.1f s, and all after %.1f s", t.First, t.All))
	return t, nil
}

// awaitWork waits until enough is stored, and the worker is seen amid its work.
func (d *Demo) awaitWork(ctx context.Context) error {
	for began := time.Now(); ; {
		_, stored := d.receipts.Told()
		if float64(stored) >= killAt*float64(d.Cast.Readings) {
			rows, err := d.tracks(ctx)
			if err != nil && !errors.Is(err, tables.ErrNoTable) {
				return err
			}
			for _, row := range rows {
				if row.open() {
					return nil
				}
			}
		}
		if time.Since(began) > mostWait {
			return fmt.Errorf("after %v, no worker is seen at work", mostWait)
		}
		if !pause(ctx, 20*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// awaitOther waits until all devices that the killed worker had in hand are committed
// under another's claim, and tells when the first one was, and the last one.
func (d *Demo) awaitOther(ctx context.Context, killed time.Time, before map[tables.DeviceID]track, inHand map[tables.DeviceID]string) (first, all float64, err error) {
	for {
		now, err := d.tracks(ctx)
		since := time.Since(killed)
		if err != nil {
			return 0, 0, err
		}
		left, done := d.compare(before, now, inHand)
		if done && first == 0 {
			first = since.Seconds()
		}
		if first > 0 && left == 0 {
			return first, since.Seconds(), nil
		}
		if since > mostWait {
			return 0, 0, fmt.Errorf("%v after a worker was killed, nobody has taken over %d of its devices", mostWait, left)
		}
		if !pause(ctx, 50*time.Millisecond) {
			return 0, 0, context.Cause(ctx)
		}
	}
}

// compare counts the devices in hand that nobody has committed yet, and tells whether
// another worker has committed one; or any device, where none was in hand.
func (d *Demo) compare(before, now map[tables.DeviceID]track, inHand map[tables.DeviceID]string) (left int, done bool) {
	for id, claim := range inHand {
		switch row := now[id]; {
		case row.committed == claim:
			// The killed worker's last request was under way, and heard.
		case row.claim == claim || row.open() && row.committed == before[id].committed:
			left++
		default:
			done = true
		}
	}
	if left == 0 && !done {
		for id, row := range now {
			done = done || row.committed != before[id].committed
		}
	}
	return left, done
}
