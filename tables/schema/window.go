package schema

import (
	"fmt"
	"strconv"
	"time"

	"furrow/tables"
)

// A Window is the length of a rollup's buckets: a whole number of seconds that
// divides a day. Its text uses the largest unit that fits: 1m, 15m, 1h, 1d.
type Window time.Duration

// The default windows of a rollup.
const (
	Minute  = Window(time.Minute)
	Quarter = Window(15 * time.Minute)
	Hour    = Window(time.Hour)
	Daily   = Window(24 * time.Hour)
)

var windowUnits = [...]struct {
	letter byte
	window Window
}{{'d', Daily}, {'h', Hour}, {'m', Minute}, {'s', Window(time.Second)}}

func (w Window) String() string {
	for _, u := range windowUnits {
		if w%u.window == 0 {
			return strconv.FormatInt(int64(w/u.window), 10) + string(u.letter)
		}
	}
	return time.Duration(w).String()
}

// Check returns why w cannot be the length of a bucket, or nil.
func (w Window) Check() error {
	if w < Window(time.Second) || w%Window(time.Second) != 0 || Daily%w != 0 {
		return fmt.Errorf("window %s: want whole seconds that divide a day, such as 1m, 15m, 1h or 1d", w)
	}
	return nil
}

// ParseWindow parses the result of String.
func ParseWindow(s string) (Window, error) {
	for _, u := range windowUnits {
		if len(s) < 2 || len(s) > 6 || s[len(s)-1] != u.letter {
			continue
		}
		w := Window(digits(s, 0, len(s)-1)) * u.window
		if w > 0 && w.Check() == nil && w.String() == s {
			return w, nil
		}
	}
	return 0, fmt.Errorf("window %s: want whole seconds that divide a day in their largest unit, "+
		"such as 1m, 15m, 1h or 1d", tables.Quote(s))
}

// Start returns the start of the bucket of t. Buckets are aligned to midnight UTC.
func (w Window) Start(t tables.Ticks) tables.Ticks { return t - t%tables.Ticks(w/100) }

// A Day counts the days since 0001-01-01, in UTC. Its text is 2026-11-20.
type Day int

// DayOf returns the day of t.
func DayOf(t tables.Ticks) Day { return Day(t / tables.Day) }

// Start returns the first tick of the day.
func (d Day) Start() tables.Ticks { return tables.Ticks(d) * tables.Day }

func (d Day) String() string { return d.Start().Time().Format(time.DateOnly) }

// ParseDay parses the result of String.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return 0, fmt.Errorf("day %s: want a date like 2026-11-20", tables.Quote(s))
	}
	return DayOf(tables.TicksOf(t)), nil
}
