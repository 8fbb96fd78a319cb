package schema

import (
	"cmp"
	"fmt"
	"time"

	"furrow/tables"
)

// MaxShards is the maximum number of shards of a month: shards have two digits.
const MaxShards = 100

// A Month is a partition of the fleet: the devices deployed in a month, or one shard of
// them. Its text is 2026-11, or 2026-11.03 for shard 3. Shard 0 has no suffix, so that a
// month can get more shards without a rename.
type Month struct {
	Year  int // 1 to 9999
	Month time.Month
	Shard int // 0 to MaxShards-1
}

// MonthOf returns the month, in UTC, of a device deployed at t.
func MonthOf(t time.Time, shard int) Month {
	t = t.UTC()
	return Month{Year: t.Year(), Month: t.Month(), Shard: shard}
}

func (m Month) String() string {
	if m.Shard == 0 {
		return fmt.Sprintf("%04d-%02d", m.Year, m.Month)
	}
	return fmt.Sprintf("%04d-%02d.%02d", m.Year, m.Month, m.Shard)
}

// Compare orders months like their texts.
func (m Month) Compare(o Month) int {
	return cmp.Or(cmp.Compare(m.Year, o.Year), cmp.Compare(m.Month, o.Month), cmp.Compare(m.Shard, o.Shard))
}

// Check returns why m is invalid, or nil.
func (m Month) Check() error {
	switch {
	case m.Year < 1 || m.Year > 9999:
		return fmt.Errorf("month: year %d is not between 1 and 9999", m.Year)
	case m.Month < time.January || m.Month > time.December:
		return fmt.Errorf("month: %d is not a month", int(m.Month))
	case m.Shard < 0 || m.Shard >= MaxShards:
		return fmt.Errorf("month: shard %d is not between 0 and %d", m.Shard, MaxShards-1)
	}
	return nil
}

// ParseMonth parses the result of String.
func ParseMonth(s string) (Month, error) {
	m := Month{Month: time.Month(digits(s, 5, 7)), Year: digits(s, 0, 4), Shard: digits(s, 8, 10)}
	if m.Check() != nil || m.String() != s {
		return Month{}, fmt.Errorf("month %s: want a form like 2026-11, or 2026-11.03 for a shard", tables.Quote(s))
	}
	return m, nil
}

// digits returns the number at s[from:to], or 0 if there is none.
func digits(s string, from, to int) int {
	if len(s) < to {
		return 0
	}
	n := 0
	for _, c := range []byte(s[from:to]) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// MarshalText is String, for messages.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), m.Check() }

// UnmarshalText is ParseMonth.
func (m *Month) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMonth(string(text))
	return err
}
