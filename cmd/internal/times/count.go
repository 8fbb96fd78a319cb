package times

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
)

// A count reads a number of units since an origin.
type count struct {
	origin     tables.Ticks
	ticks, per int64 // a unit is ticks / per
	round      tables.Ticks
}

const second = int64(time.Second / 100)

// counts returns the counts that have a name.
func counts() map[string]count {
	unix := tables.TicksOf(time.Unix(0, 0))
	return map[string]count{
		"s": {unix, second, 1, 0}, "ms": {unix, second / 1e3, 1, 0}, "us": {unix, second / 1e6, 1, 0},
		"ns": {unix, 1, 100, 0}, "ticks": {0, 1, 1, 0},
		"filetime": {tables.TicksOf(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)), 1, 1, 0},
		// A spreadsheet has no more than milliseconds: its numbers are fractions of a day.
		"excel": {tables.TicksOf(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)), 86400 * second, 1,
			tables.Ticks(second / 1e3)},
	}
}

// since returns the count that a text such as "seconds since 2025-01-01T00:00:00Z" describes.
func since(text string) (c count, err error) {
	unit, origin, ok := strings.Cut(text, " since ")
	lengths := map[string]int64{"days": 86400 * second, "hours": 3600 * second, "minutes": 60 * second,
		"seconds": second, "milliseconds": second / 1e3, "microseconds": second / 1e6}
	if c.ticks = lengths[unit]; !ok || c.ticks == 0 {
		return c, errors.New("not a count")
	}
	from, err := parseCivil(origin, "iso")
	if err != nil {
		return c, fmt.Errorf("%q %w", origin, err)
	}
	c.per = 1
	c.origin, err = from.ticks(time.UTC)
	return c, err
}

// parse returns the tick that a decimal number means, rounded down.
func (c count) parse(text string) (tables.Ticks, error) {
	whole, fraction, negative, ok := decimal(text)
	if !ok {
		return 0, errNoTime
	}
	high, low := bits.Mul64(whole, uint64(c.ticks))
	if high != 0 || low > 1<<62 {
		return 0, errNoTime
	}
	n, inexact := int64(low)/c.per, int64(low)%c.per != 0
	if fraction = fraction[:min(len(fraction), 18)]; fraction != "" && c.per == 1 {
		part, _ := strconv.ParseUint(fraction, 10, 64)
		high, low = bits.Mul64(part, uint64(c.ticks))
		scale := uint64(1)
		for range fraction {
			scale *= 10
		}
		quotient, rest := bits.Div64(high, low, scale)
		n, inexact = n+int64(quotient), rest != 0
	}
	if negative {
		if n = -n; inexact {
			n--
		}
	}
	if at := c.origin + tables.Ticks(n); c.round > 0 {
		return (at + c.round/2).Floor(c.round), nil
	} else {
		return at, nil
	}
}

// decimal returns the parts of a decimal number, which may have an exponent.
func decimal(text string) (whole uint64, fraction string, negative, ok bool) {
	mantissa, exponent, shifted := strings.Cut(strings.ToLower(text), "e")
	if negative = strings.HasPrefix(mantissa, "-"); negative {
		mantissa = mantissa[1:]
	}
	digits, fraction, point := strings.Cut(mantissa, ".")
	if digits == "" || point && fraction == "" || strings.Trim(digits+fraction, "0123456789") != "" {
		return 0, "", false, false
	}
	if shifted {
		n, err := strconv.Atoi(exponent)
		if err != nil || n < -30 || n > 30 {
			return 0, "", false, false
		}
		for ; n > 0; n-- {
			fraction += "0"
			digits, fraction = digits+fraction[:1], fraction[1:]
		}
		for ; n < 0; n++ {
			digits = "0" + digits
			digits, fraction = digits[:len(digits)-1], digits[len(digits)-1:]+fraction
		}
	}
	whole, err := strconv.ParseUint(digits, 10, 64)
	return whole, fraction, negative, err == nil
}
