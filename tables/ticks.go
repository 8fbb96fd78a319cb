package tables

import (
	"fmt"
	"time"
)

// Ticks is a moment as readings are keyed by it: units of 100 ns since
// 0001-01-01 00:00 UTC, which is also the resolution of Edm.DateTime.
type Ticks int64

// MaxTicks is the last tick of the year 9999. Moments outside of [0, MaxTicks]
// have no text; String and TicksOf bring them back to the nearer end.
const MaxTicks Ticks = 3155378975999999999

const (
	ticksPerSecond = 10_000_000
	TicksPerDay    = 24 * 60 * 60 * ticksPerSecond
	unixTicks      = 621355968000000000 // 1970-01-01
	ticksDigits    = 19
)

// TicksOf is the tick that t lies in; what t has below 100 ns is cut off.
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

// Time is the start of the tick, in UTC.
func (t Ticks) Time() time.Time {
	s, rest := (t-unixTicks)/ticksPerSecond, (t-unixTicks)%ticksPerSecond
	return time.Unix(int64(s), int64(rest)*100).UTC()
}

// Add is the tick that lies d later; what d has below 100 ns is cut off.
func (t Ticks) Add(d time.Duration) Ticks { return t + Ticks(d/100) }

// String is 19 digits, so that text order is time order.
func (t Ticks) String() string {
	t = min(max(t, 0), MaxTicks)
	var text [ticksDigits]byte
	for i := range text {
		text[ticksDigits-1-i] = byte('0' + t%10)
		t /= 10
	}
	return string(text[:])
}

// ParseTicks reads the 19 digits that String writes, and nothing else.
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

// MarshalText is String: the digits of ticks are too many for a number in JSON.
func (t Ticks) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTicks.
func (t *Ticks) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTicks(string(text))
	return err
}
