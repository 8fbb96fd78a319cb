package endpoint

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"furrow/tables"
)

// What is allowed where nothing else is said. Each is of one process: two endpoints
// side by side allow twice as much.
const (
	DefaultRate       = 1000 // requests a second of all devices
	DefaultDeviceRate = 6    // requests a minute of one device
	DefaultPlaces     = 256  // requests that use storage at a time

	DeviceBurst = 10 // requests that a device has saved up after a while
	// burstSeconds is how much all devices have saved up: of the default rate, 2,000.
	burstSeconds = 2
)

// Limits are what devices may ask for. They hold for those that have proved who
// they are; others get nothing anyway. Zero means the default.
type Limits struct {
	Rate       int // requests a second of all devices; a burst may be twice that
	DeviceRate int // requests a minute of one device, with a burst of DeviceBurst
	Places     int // requests that use storage at a time
}

func (l Limits) fleet() bucket {
	rate := cmp.Or(l.Rate, DefaultRate)
	return bucket{every: time.Second / time.Duration(rate), burst: burstSeconds * rate}
}

func (l Limits) device() bucket {
	return bucket{every: time.Minute / time.Duration(cmp.Or(l.DeviceRate, DefaultDeviceRate)), burst: DeviceBurst}
}

// A fleet is the allowance of all devices together.
type fleet struct {
	bucket
	mu   sync.Mutex
	paid time.Time
	line line
}

// pass lets a request pass, or says when to come back.
func (f *fleet) pass(now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paid, wait = f.bucket.pass(f.paid, now); wait > 0 {
		return f.line.join(now, wait, f.every)
	}
	return 0
}

// state is how many may pass at once now, and how long the line is.
func (f *fleet) state(now time.Time) (left int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left(f.paid, now), f.line.length(now)
}

// devices are the allowances of single devices, in bounded memory: two generations,
// of which the older is dropped when the younger has lived as long as an allowance
// takes to be whole again, or is full. What is dropped because of its age would have
// been whole anyway. So only where more than mostDevices prove themselves within
// that time do some of them have a whole allowance early; the fleet's still holds.
type devices struct {
	bucket
	most int // in a generation

	mu         sync.Mutex
	young, old map[tables.DeviceID]time.Time
	born       time.Time // when young was made
}

// mostDevices are in a generation; two of them take some 30 MB.
const mostDevices = 100_000

// pass lets a request of a device pass, or says when to come back.
func (d *devices) pass(id tables.DeviceID, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.young) >= d.most || now.Sub(d.born) >= d.full() {
		d.old, d.young, d.born = d.young, map[tables.DeviceID]time.Time{}, now
	}
	paid, ok := d.young[id]
	if !ok {
		paid = d.old[id]
		id = tables.DeviceID(strings.Clone(string(id))) // it is a part of the request, all of which would stay
	}
	next, wait := d.bucket.pass(paid, now)
	d.young[id] = next
	return wait
}

// known is how many devices are remembered.
func (d *devices) known() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.young) + len(d.old)
}
