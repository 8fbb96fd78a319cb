package endpoint

import (
	"cmp"
	"hash/maphash"
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

// A fleet is the rate limit of all devices together. A tenant may have all of it, but for a reserve: when a quarter of
// the burst is left, a tenant gets no more than a sixteenth of the rate. So those of one tenant, however many they are,
// leave tokens to the others.
type fleet struct {
	limit
	mu      sync.Mutex
	tenants map[schema.Tenant]*limit // what each has taken of the reserve
}

// A limit is a bucket with its state.
type limit struct {
	bucket
	paid  time.Time
	retry retrySchedule
}

// admit admits a request, or returns when to retry: those that are refused come back one every so long.
func (l *limit) admit(now time.Time, every time.Duration) (wait time.Duration) {
	if l.paid, wait = l.bucket.admit(l.paid, now); wait > 0 {
		return l.retry.next(now, wait, every)
	}
	return 0
}

const (
	reservePart = 4  // of the burst
	tenantPart  = 16 // of the rate, and of the burst
)

func newFleet(b bucket) *fleet {
	return &fleet{limit: limit{bucket: b}, tenants: map[schema.Tenant]*limit{}}
}

// admit admits a request of a tenant, or returns when to retry.
func (f *fleet) admit(of schema.Tenant, now time.Time) (wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if reserve := f.burst / reservePart; reserve > 0 && f.left(f.paid, now) <= reserve {
		own := f.tenants[of]
		if own == nil {
			own = &limit{bucket: bucket{every: f.every * tenantPart, burst: max(1, f.burst/tenantPart)}}
			f.tenants[of] = own
		}
		if wait = own.admit(now, f.every); wait > 0 {
			return wait
		}
	}
	return f.limit.admit(now, f.every)
}

// state is how many requests may pass at once now, and the delay of the last rejected one.
func (f *fleet) state(now time.Time) (left int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = f.retry.delay(now)
	for _, own := range f.tenants {
		wait = max(wait, own.retry.delay(now))
	}
	return f.left(f.paid, now), wait
}

// enrollments holds the rate limits of enrollments that have one.
type enrollments struct {
	mu  sync.Mutex
	all map[schema.EnrollmentID]*limit
}

// admit admits a request of an enrollment's device, or returns when to retry. A changed rate applies at once.
func (n *enrollments) admit(e schema.Enrollment, now time.Time) (wait time.Duration) {
	if e.Rate == 0 {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.all[e.ID]
	if b := (bucket{every: time.Minute / time.Duration(e.Rate), burst: e.Rate}); l == nil || l.bucket != b {
		l = &limit{bucket: b}
		n.all[e.ID] = l
	}
	return l.admit(now, l.every)
}

// devices holds the rate limits of single devices in bounded memory: the state of the device that
// has not asked for longest is dropped first. Only if more than maxDevices ask within the time
// that a bucket takes to refill do some of them get a full bucket early; the total limit still
// holds.
type devices struct {
	bucket
	mu   sync.Mutex
	seed maphash.Seed
	paid *simplelru.LRU[uint64, time.Time] // by the hash of what is proven, which takes little memory
}

// proven is what a proof proves: that a device is one of an enrollment. Whoever has the key of another enrollment can
// prove that for the same device, though it will get no token, and uses up nothing of the device's own.
type proven struct {
	device     schema.DeviceID
	enrollment schema.EnrollmentID
}

// maxDevices take about 30 MB.
const maxDevices = 200_000

func newDevices(b bucket, most int) *devices {
	paid, err := simplelru.NewLRU[uint64, time.Time](most, nil)
	if err != nil {
		panic(err) // a size below 1
	}
	return &devices{bucket: b, seed: maphash.MakeSeed(), paid: paid}
}

// admit admits a request of a device, or returns when to retry.
func (d *devices) admit(p proven, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := maphash.Comparable(d.seed, p)
	paid, _ := d.paid.Get(key)
	next, wait := d.bucket.admit(paid, now)
	d.paid.Add(key, next)
	return wait
}

// known is how many devices have state.
func (d *devices) known() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paid.Len()
}

// A bucket is a rate limit: a burst of requests at once, then one per every. It is the
// generic cell rate algorithm (GCRA): its only state is a time that the caller keeps,
// at which every request that passed is paid for. One time.Time per device is enough.
type bucket struct {
	every time.Duration
	burst int
}

// admit admits one more request and returns the new state, or returns the state unchanged
// and how long the request has to wait.
func (b bucket) admit(paid, now time.Time) (time.Time, time.Duration) {
	next := later(paid, now).Add(b.every)
	if wait := next.Sub(now) - b.full(); wait > 0 {
		return paid, wait
	}
	return next, 0
}

// full is how long an empty bucket takes to refill. Older state can be forgotten.
func (b bucket) full() time.Duration { return time.Duration(b.burst) * b.every }

// left is how many requests may pass at once now.
func (b bucket) left(paid, now time.Time) int {
	return int((b.full() - later(paid, now).Sub(now)) / b.every)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A retrySchedule tells rejected clients when to retry, each a little later than the one
// before. If all were told the same time, a fleet that boots at once would return at once,
// again and again. It stores no clients: one that returns early, or finds the limit used up
// again, gets a new time at the end.
type retrySchedule struct{ end time.Time }

// maxRetryDelay bounds the schedule. A client beyond it gets the earliest time instead:
// some are then rejected once more, which costs less than devices that stay away for hours.
const maxRetryDelay = 5 * time.Minute

// next returns how long the next client should wait: at least soonest, and at least every
// longer than the client before it.
func (s *retrySchedule) next(now time.Time, soonest, every time.Duration) time.Duration {
	s.end = s.end.Add(every)
	if first := now.Add(soonest); s.end.Before(first) || s.end.Sub(now) > maxRetryDelay {
		s.end = first
	}
	return s.end.Sub(now)
}

// delay is how long the last client still has to wait.
func (s *retrySchedule) delay(now time.Time) time.Duration { return max(0, s.end.Sub(now)) }
