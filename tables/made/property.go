package made

import (
	"math"
	"strconv"

	"furrow/tables"
)

// inProperty names the boot whose numbers are in a property. They go through restarts, or begin again unseen.
const inProperty = ""

// Bounds of what one step between numbers in a property may be.
const (
	// shortly is how far readings may be out of order, in numbers: several of one tick are in the order of their
	// suffixes.
	shortly = 16
	// overWrap is how many numbers may be missing across a wrap. A number that falls further is a restart.
	overWrap = 1000
)

// NumberOf returns the number that a property holds, as it was sent; false where it holds none.
func NumberOf(v tables.Value) (n uint64, is bool) {
	f := v.Float()
	switch v.Type() {
	case tables.TypeString:
		n, err := strconv.ParseUint(v.Text(), 10, 32)
		return n, err == nil
	case tables.TypeInt32, tables.TypeInt64, tables.TypeDouble:
		return uint64(f), f >= 0 && f <= math.MaxUint32 && f == math.Trunc(f)
	}
	return 0, false
}

// takeProperty counts the next number in a property.
func (c *Counter) takeProperty(n uint64, at tables.Ticks, d *Day) {
	b := c.boots.named(inProperty)
	if b == nil {
		c.countIn(c.boots.add(&boot{name: inProperty}), n, at)
		return
	}
	newest, last := b.newest(), b.seen[len(b.seen)-1].last
	if n >= newest || n > 0 && newest-n < shortly {
		c.countIn(b, n, at)
		return
	}
	c.takeAnew(n, at)
	missing, size := wrap(newest, n)
	if size == 0 {
		d.Restarts++
		return
	}
	d.Wraps++
	if d.Missing += int64(missing); missing > 0 {
		d.keep(Gap{From: (newest + 1) % size, To: (n + size - 1) % size, After: last, Before: at})
	}
}

// takeAnew has the numbers in the property begin again.
func (c *Counter) takeAnew(n uint64, at tables.Ticks) {
	c.close(c.boots.named(inProperty), false)
	c.countIn(c.boots.add(&boot{name: inProperty}), n, at)
}

// wrap returns how many numbers are missing if a counter has begun again between two numbers, and how many numbers the
// counter has: 0 if that is unlikely.
func wrap(before, after uint64) (missing, size uint64) {
	for _, size := range []uint64{1 << 16, 1 << 32} {
		if before < size && size-1-before+after <= overWrap {
			return size - 1 - before + after, size
		}
	}
	return 0, 0
}
