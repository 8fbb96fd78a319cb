package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/cmd/internal/process"
	"furrow/tables"
	"furrow/tables/schema"
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
	// holdAt is which part of them is handed over before that, at most.
	holdAt = 0.85
	// idleFor is how long nothing is folded when the worker is killed all the same,
	// though no device is seen in its hand.
	idleFor = 10 * time.Second
)

// takeOver kills the first worker amid its work, and starts another.
func (d *Demo) takeOver(ctx context.Context, first *process.Process,
	failed context.CancelCauseFunc) (t Takeover, err error) {
	if err := d.awaitWork(ctx); err != nil {
		return t, err
	}
	killed := time.Now()
	if err := first.Kill(); err != nil {
		return t, err
	}
	close(d.killed)
	_, t.Stored = d.receipts.Told()
	t.Killed, t.Lease = first.PID(), lease.Seconds()
	before, err := d.tracks(ctx)
	if err != nil {
		return t, err
	}
	inHand := map[schema.DeviceID]string{} // the killed worker's claims
	for id, row := range before {
		if row.Claimed() {
			inHand[id] = row.Claim
		}
	}
	t.Devices = len(inHand)
	d.Screen.Say(fmt.Sprintf("worker 1 is killed, with %d devices in hand", t.Devices))
	second, err := d.work(failed)
	if err != nil {
		return t, err
	}
	t.By = second.PID()
	if t.First, t.All, err = d.awaitOther(ctx, killed, before, inHand); err != nil {
		return t, err
	}
	d.Screen.Say(fmt.Sprintf("worker 2 had the first of them done after %.1f s, and all after %.1f s", t.First, t.All))
	return t, nil
}

// awaitWork waits until enough is stored, and the worker is seen amid its work.
func (d *Demo) awaitWork(ctx context.Context) error {
	moved, since := int64(-1), time.Now()
	return await(ctx, d.Screen, 20*time.Millisecond, func(ctx context.Context) (s sight, err error) {
		_, stored := d.receipts.Told()
		s.moved, s.left = int64(stored), fmt.Sprintf("%d of %d readings are stored, and no worker is seen at work", stored,
			d.Cast.Readings)
		if float64(stored) < killAt*float64(d.Cast.Readings) {
			return s, nil
		}
		rows, err := d.tracks(ctx)
		if errors.Is(err, tables.ErrNoTable) {
			return s, nil
		}
		for _, row := range rows {
			s.moved += row.Rows
			s.done = s.done || row.Claimed()
		}
		if s.moved > moved {
			moved, since = s.moved, time.Now()
		}
		s.done = s.done || len(rows) > 0 && time.Since(since) > idleFor
		return s, err
	})
}

// awaitOther waits until all devices that the killed worker had in hand are committed
// under another's claim, and tells when the first one was, and the last one.
func (d *Demo) awaitOther(ctx context.Context, killed time.Time, before map[schema.DeviceID]schema.Track,
	inHand map[schema.DeviceID]string) (first, all float64, err error) {
	err = await(ctx, d.Screen, look, func(ctx context.Context) (s sight, err error) {
		now, err := d.tracks(ctx)
		since := time.Since(killed).Seconds()
		if err != nil {
			return s, err
		}
		left, such, done := d.compare(before, now, inHand)
		if done && first == 0 {
			first = since
		}
		if first > 0 && left == 0 {
			all, s.done = since, true
		}
		for _, row := range now {
			s.moved += row.Rows
		}
		s.moved -= int64(left)
		s.left = fmt.Sprintf("nobody has taken over %d of the %d devices that the killed worker had in hand", left,
			len(inHand))
		if such != "" {
			s.left += fmt.Sprintf(", such as %s%s", such, trouble(now[such]))
		}
		return s, nil
	})
	return first, all, err
}

// compare counts the devices in hand that nobody has committed yet, names one of them,
// and tells whether another worker has committed one; or any device, where none was in hand.
func (d *Demo) compare(before, now map[schema.DeviceID]schema.Track,
	inHand map[schema.DeviceID]string) (left int, such schema.DeviceID, done bool) {
	for id, claim := range inHand {
		switch row := now[id]; {
		case row.Committed == claim:
			// The killed worker's last request was under way, and heard.
		case row.Claim == claim || row.Claimed() && row.Committed == before[id].Committed:
			left++
			such = id
		default:
			done = true
		}
	}
	if left == 0 && !done {
		for id, row := range now {
			done = done || row.Committed != before[id].Committed
		}
	}
	return left, such, done
}
