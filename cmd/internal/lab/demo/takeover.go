package demo

import (
	"context"
	"fmt"
	"time"

	"furrow/cmd/internal/process"
	"furrow/tables/schema"
)

// A Takeover says how another worker continued when one was killed.
type Takeover struct {
	Killed  int `json:"killedProcess"`
	By      int `json:"byProcess"`
	Stored  int `json:"storedThen"`    // readings at that time
	Devices int `json:"devicesInHand"` // that it had claimed and not committed

	// From the kill until another worker had committed the first of these devices, and all of them. If
	// there were none: until it had committed any device.
	First float64 `json:"firstSeconds"`
	All   float64 `json:"allSeconds"`

	Lease float64 `json:"leaseSeconds"` // until another worker gets a dead worker's messages
}

const (
	killAt = 0.45 // share of the readings that is stored when the worker is killed
	holdAt = 0.85 // largest share that devices send before that
	// idleFor is how long nothing is folded until the worker is killed even though it has no claim.
	idleFor = 10 * time.Second
)

// takeOver kills the first worker during a job, and starts another.
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
	d.Screen.Say(fmt.Sprintf("worker 2 committed the first of them after %.1f s, and all after %.1f s", t.First, t.All))
	return t, nil
}

// awaitWork waits until enough is stored and the worker has claimed a device.
func (d *Demo) awaitWork(ctx context.Context) error {
	moved, since := int64(-1), time.Now()
	return await(ctx, d.Screen, 20*time.Millisecond, func(ctx context.Context) (s waitState, err error) {
		_, stored := d.receipts.Told()
		s.progress, s.left = int64(stored), fmt.Sprintf("%d of %d readings are stored, and no device is claimed", stored,
			d.Cast.Readings)
		if float64(stored) < killAt*float64(d.Cast.Readings) {
			return s, nil
		}
		rows, err := d.tracks(ctx)
		for _, row := range rows {
			s.progress += row.Rows
			s.done = s.done || row.Claimed()
		}
		if s.progress > moved {
			moved, since = s.progress, time.Now()
		}
		s.done = s.done || len(rows) > 0 && time.Since(since) > idleFor
		return s, err
	})
}

// awaitOther waits until another worker has committed all devices that the killed one had claimed. It returns
// after how many seconds the first and the last were committed.
func (d *Demo) awaitOther(ctx context.Context, killed time.Time, before map[schema.DeviceID]schema.Track,
	inHand map[schema.DeviceID]string) (first, all float64, err error) {
	err = await(ctx, d.Screen, pollEvery, func(ctx context.Context) (s waitState, err error) {
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
			s.progress += row.Rows
		}
		s.progress -= int64(left)
		s.left = fmt.Sprintf("no worker has taken over %d of the %d devices that the killed worker had claimed", left,
			len(inHand))
		if such != "" {
			s.left += fmt.Sprintf(", such as %s%s", such, trouble(now[such]))
		}
		return s, nil
	})
	return first, all, err
}

// compare counts the claimed devices that are not committed yet, names one of them, and tells whether another
// worker has committed one, or any device if none was claimed.
func (d *Demo) compare(before, now map[schema.DeviceID]schema.Track,
	inHand map[schema.DeviceID]string) (left int, such schema.DeviceID, done bool) {
	for id, claim := range inHand {
		switch row := now[id]; {
		case row.Committed == claim:
			// The killed worker's last request arrived.
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
