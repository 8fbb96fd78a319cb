package endpoint

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"furrow/tables/schema"
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

// A fleet is the rate limit of all devices together, or of those of an enrollment.
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

// enrollments holds the rate limits of enrollments that have one.
type enrollments struct {
	mu  sync.Mutex
	all map[schema.EnrollmentID]*fleet
}

// pass admits a request of an enrollment's device, or returns when to retry. A changed rate applies at once.
func (n *enrollments) pass(e schema.Enrollment, now time.Time) time.Duration {
	if e.Rate == 0 {
		return 0
	}
	n.mu.Lock()
	f := n.all[e.ID]
	if b := (bucket{every: time.Minute / time.Duration(e.Rate), burst: e.Rate}); f == nil || f.bucket != b {
		f = &fleet{bucket: b}
		n.all[e.ID] = f
	}
	n.mu.Unlock()
	return f.pass(now)
}

// devices holds the rate limits of single devices in bounded memory: the state of the device that
// has not asked for longest is dropped first. Only if more than maxDevices ask within the time
// that a bucket takes to refill do some of them get a full bucket early; the total limit still
// holds.
type devices struct {
	bucket
	mu   sync.Mutex
	paid *simplelru.LRU[schema.DeviceID, time.Time]
}

// maxDevices take about 30 MB.
const maxDevices = 200_000

func newDevices(b bucket, most int) *devices {
	paid, err := simplelru.NewLRU[schema.DeviceID, time.Time](most, nil)
	if err != nil {
		panic(err) // a size below 1
	}
	return &devices{bucket: b, paid: paid}
}

// pass admits a request of a device, or returns when to retry.
func (d *devices) pass(id schema.DeviceID, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	paid, known := d.paid.Get(id)
	if !known {
		id = schema.DeviceID(strings.Clone(string(id))) // the original would keep the whole request in memory
	}
	next, wait := d.bucket.pass(paid, now)
	d.paid.Add(id, next)
	return wait
}

// known is how many devices have state.
func (d *devices) known() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paid.Len()
}
