package endpoint

import (
	"cmp"
	"furrow/tables/schema"
	"strings"
	"sync"
	"time"
)

// Default limits. Each applies to one process: two replicas allow twice as much.
const (
	DefaultRate       = 1000 // requests per second of all devices
	DefaultDeviceRate = 6    // requests per minute of one device
	DefaultSlots      = 256  // concurrent requests that use storage

	DeviceBurst = 10 // requests of one device at once
	// burstSeconds is the total burst in seconds of the rate: 2,000 requests by default.
	burstSeconds = 2
)

// Limits bound the requests of authenticated devices; others get nothing anyway. Zero means
// the default.
type Limits struct {
	Rate       int // requests per second of all devices; a burst may be twice that
	DeviceRate int // requests per minute of one device, with a burst of DeviceBurst
	Slots      int // concurrent requests that use storage
}

func (l Limits) fleet() bucket {
	rate := cmp.Or(l.Rate, DefaultRate)
	return bucket{every: time.Second / time.Duration(rate), burst: burstSeconds * rate}
}

func (l Limits) device() bucket {
	return bucket{every: time.Minute / time.Duration(cmp.Or(l.DeviceRate, DefaultDeviceRate)), burst: DeviceBurst}
}

// A fleet is the rate limit of all devices together.
type fleet struct {
	bucket
	mu    sync.Mutex
	paid  time.Time
	retry retrySchedule
}

// pass admits a request, or returns when to retry.
func (f *fleet) pass(now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paid, wait = f.bucket.pass(f.paid, now); wait > 0 {
		return f.retry.next(now, wait, f.every)
	}
	return 0
}

// state is how many requests may pass at once now, and the delay of the last rejected one.
func (f *fleet) state(now time.Time) (left int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left(f.paid, now), f.retry.delay(now)
}

// devices holds the rate limits of single devices in bounded memory, as two generations.
// The older is dropped when the younger is full, or as old as a bucket takes to refill: the
// dropped buckets would be full again anyway. Only if more than maxDevices authenticate
// within that time do some of them get a full bucket early; the total limit still holds.
type devices struct {
	bucket
	max int // in a generation

	mu         sync.Mutex
	young, old map[schema.DeviceID]time.Time
	born       time.Time // when young was made
}

// maxDevices is the size of a generation. Two generations take about 30 MB.
const maxDevices = 100_000

// pass admits a request of a device, or returns when to retry.
func (d *devices) pass(id schema.DeviceID, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.young) >= d.max || now.Sub(d.born) >= d.full() {
		d.old, d.young, d.born = d.young, map[schema.DeviceID]time.Time{}, now
	}
	paid, ok := d.young[id]
	if !ok {
		paid = d.old[id]
		id = schema.DeviceID(strings.Clone(string(id))) // the original would keep the whole request in memory
	}
	next, wait := d.bucket.pass(paid, now)
	d.young[id] = next
	return wait
}

// known is how many devices have state.
func (d *devices) known() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.young) + len(d.old)
}
