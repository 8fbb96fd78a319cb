package tables

import (
	"fmt"
	"time"
)

// Ticks is a time in units of 100 ns since 0001-01-01 00:00 UTC, the resolution of
// Edm.DateTime. The keys of readings are ticks.
type Ticks int64

// MaxTicks is the last tick of the year 9999. String and TicksOf limit times to
// [0, MaxTicks].
const MaxTicks Ticks = 3155378975999999999

// Lengths of time in ticks.
const (
	Hour = Ticks(time.Hour / 100)
	Day  = 24 * Hour
)

const (
	ticksPerSecond = 10_000_000
	unixTicks      = 621355968000000000 // 1970-01-01
	ticksDigits    = 19
)

// TicksOf returns t in ticks, rounded down.
func TicksOf(t time.Time) Ticks {
	switch s := t.Unix(); {
	case s < -unixTicks/ticksPerSecond:
		return 0
	case s > int64(MaxTicks-unixTicks)/ticksPerSecond:
		return MaxTicks
	default:
		return unixTicks + Ticks(s)*ticksPerSecond + Ticks(t.Nanosecond()/100)
	}
}

// Time returns the start of the tick, in UTC.
func (t Ticks) Time() time.Time {
	s, rest := (t-unixTicks)/ticksPerSecond, (t-unixTicks)%ticksPerSecond
	return time.Unix(int64(s), int64(rest)*100).UTC()
}

// Floor returns the start of the length that t lies in.
func (t Ticks) Floor(length Ticks) Ticks { return t - t%length }

// Ceil returns the end of the length that t lies in, or t if it lies between two.
func (t Ticks) Ceil(length Ticks) Ticks { return (t + length - 1).Floor(length) }

// Add returns t plus d, rounded to ticks.
func (t Ticks) Add(d time.Duration) Ticks { return t + Ticks(d/100) }

// String returns 19 digits, so that text order is time order.
func (t Ticks) String() string {
	t = min(max(t, 0), MaxTicks)
	var text [ticksDigits]byte
	for i := range text {
		text[ticksDigits-1-i] = byte('0' + t%10)
		t /= 10
	}
	return string(text[:])
}

// ParseTicks parses the 19 digits of String, and nothing else.
func ParseTicks(s string) (Ticks, error) {
	if len(s) != ticksDigits {
		return 0, fmt.Errorf("ticks %s: want %d digits, not %d characters", Quote(s), ticksDigits, len(s))
	}
	var t uint64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("ticks %s: character %q at position %d is not a digit", Quote(s), s[i], i+1)
		}
		t = t*10 + uint64(s[i]-'0')
	}
	if t > uint64(MaxTicks) {
		return 0, fmt.Errorf("ticks %s lie after the year 9999", Quote(s))
	}
	return Ticks(t), nil
}

// MarshalText is String: ticks have too many digits for a number in JSON.
func (t Ticks) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTicks.
func (t *Ticks) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTicks(string(text))
	return err
}

// TicksBefore returns the last tick whose text is not after a row key in the order of text, which is the order of
// storage. Even a malformed row key has such a tick: whoever counts rows by time must find it in the range of that
// time.
func TicksBefore(rowKey string) Ticks {
	const digits = 19
	var t uint64 // holds all numbers of 19 digits, unlike Ticks
	for i := range digits {
		c := byte(0) // a key that ends here comes before all longer ones
		if i < len(rowKey) {
			c = rowKey[i]
		}
		if c >= '0' && c <= '9' {
			t = t*10 + uint64(c-'0')
			continue
		}
		if c > '9' { // it comes after everything with a digit here
			t++
		}
		for range digits - i {
			t *= 10
		}
		t = max(t, 1) - 1
		break
	}
	return Ticks(min(t, uint64(MaxTicks)))
}

// ComesWithin reports whether t is after now, by d at most.
func (t Ticks) ComesWithin(d time.Duration, now Ticks) bool { return t > now && t <= now.Add(d) }
