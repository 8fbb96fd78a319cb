package times

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"furrow/tables"
)

// A civil is a date and a clock as they are written.
type civil struct {
	year, month, day  int
	hour, minute, sec int
	frac              tables.Ticks // of the second
	zoned             bool
	offset            int // of the zone, in seconds
}

// guessedMonthFirst is an order for guesses: of dates with points, the day comes first even there.
const guessedMonthFirst = "mdy."

var errNoTime = errors.New("is not a time")

// parseCivil reads a date and a clock. The order matters only where the year comes last or has two digits.
func parseCivil(text string, order string) (c civil, err error) {
	s := &scanner{rest: strings.TrimSpace(text)}
	s.weekday()
	if !c.date(s, order) || !c.clock(s) || !c.zone(s) || strings.TrimSpace(s.rest) != "" {
		return c, errNoTime
	}
	return c, c.check()
}

func (c *civil) check() error {
	lengths := time.Date(c.year, time.Month(c.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	late := c.hour == 24 && (c.minute > 0 || c.sec > 0 || c.frac > 0)
	if c.month < 1 || c.month > 12 || c.day < 1 || c.day > lengths || c.hour > 24 || late || c.minute > 59 || c.sec > 60 ||
		c.year < 1 || c.year > 9999 {
		return errNoTime
	}
	return nil
}

// date reads a date with digits or with the name of a month.
func (c *civil) date(s *scanner, order string) bool {
	if name := s.letters(); name != "" { // Jan 2, 2025
		c.month = month(name)
		s.skip(" .")
		c.day = number(s.digits(2))
		s.skip(" ,")
		c.year = number(s.digits(4))
		return c.month > 0
	}
	first := s.digits(14)
	switch len(first) {
	case 8, 10, 12, 14:
		c.year, c.month, c.day = number(first[:4]), number(first[4:6]), number(first[6:8])
		if first = first[8:]; first != "" {
			s.rest = " " + first + strings.Repeat("0", max(0, 4-len(first))) + s.rest
		}
		return true
	case 1, 2, 4:
	default:
		return false
	}
	separator := s.skip("-/. ")
	name := s.letters()
	second := s.digits(2)
	if again := s.skip("-/. ,"); separator == "" || name == "" && again != separator {
		return false
	}
	third := s.digits(4)
	if len(first) == 4 {
		order = "ymd"
		if len(third) > 2 {
			return false
		}
	} else if name != "" && len(third) == 4 {
		order = "dmy"
	} else if order == guessedMonthFirst {
		if order = "mdy"; separator == "." {
			order = "dmy" // nobody writes the month first with points
		}
	}
	if short := order == "iso" || order == "ymd" && len(third) == 4; len(first) < 4 && (len(third) != 2 &&
		len(third) != 4 ||
		short && name == "") {
		return false
	}
	if name != "" {
		if second = fmt.Sprint(month(name)); order == "mdy" || month(name) == 0 {
			return false
		}
	}
	for i, part := range []string{first, second, third} {
		switch order[i] {
		case 'y':
			if c.year = number(part); len(part) == 2 {
				c.year += 1900
				if c.year < 1969 {
					c.year += 100
				}
			}
		case 'm':
			c.month = number(part)
		case 'd':
			if c.day = number(part); len(part) > 2 {
				return false
			}
		}
	}
	return true
}

// clock reads what follows a date: nothing, 8:30, 08:30:05.123, 083005, or 08:30 AM.
func (c *civil) clock(s *scanner) bool {
	if s.rest == "" {
		return true
	}
	if gap := s.skip("T ,t_"); gap == "" || len(gap) > 2 {
		return false
	}
	hours := s.digits(6)
	switch {
	case len(hours) == 4 || len(hours) == 6:
		c.hour, c.minute = number(hours[:2]), number(hours[2:4])
		c.sec = number("0" + hours[4:])
	case len(hours) > 2 || hours == "" || s.skip(":") != ":":
		return false
	default:
		c.hour = number(hours)
		minutes := s.digits(2)
		if c.minute = number(minutes); len(minutes) != 2 {
			return false
		}
		if after, is := strings.CutPrefix(s.rest, ":"); is {
			s.rest = after
			if c.sec = number(s.digits(2)); c.sec < 0 {
				return false
			}
		}
	}
	if s.skip(".,") != "" {
		fraction := s.digits(18)
		c.frac = tables.Ticks(number((fraction + "0000000")[:7]))
		if fraction == "" {
			return false
		}
	}
	return c.half(s)
}

// half reads AM or PM.
func (c *civil) half(s *scanner) bool {
	before := s.rest
	s.skip(" ")
	switch strings.ToLower(s.letters()) {
	case "am":
		if c.hour > 12 {
			return false // 15:00 AM is neither
		}
		c.hour %= 12
	case "pm":
		c.hour = c.hour%12 + 12
	default:
		s.rest = before
		return true
	}
	return true
}

// zone reads Z, UTC, +01, +0100, +01:00, or a zone that RFC 2822 names.
func (c *civil) zone(s *scanner) bool {
	s.skip(" ")
	if s.rest == "Z" {
		c.zoned, s.rest = true, ""
		return true
	}
	named := 0
	if name := s.letters(); name != "" {
		hours, known := map[string]int{"Z": 0, "UTC": 0, "GMT": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5,
			"MST": -7, "MDT": -6, "PST": -8, "PDT": -7}[strings.ToUpper(name)]
		if c.zoned, c.offset, named = known, hours*3600, hours; !known || s.rest == "" {
			return known
		}
	}
	sign := s.skip("+-−")
	if sign == "" {
		return true
	}
	if named != 0 || utf8.RuneCountInString(sign) > 1 {
		return false // EST+01:00 is two offsets, and +-01:00 is none
	}
	hours, minutes := s.digits(4), ""
	if len(hours) == 4 {
		hours, minutes = hours[:2], hours[2:]
	} else if s.skip(":") == ":" {
		if minutes = s.digits(2); len(minutes) != 2 {
			return false
		}
	}
	east := number("0" + minutes)
	c.zoned, c.offset = true, number(hours)*3600+east*60
	if sign != "+" {
		c.offset = -c.offset
	}
	if before := s.rest; s.skip(" ") == "" || len(s.letters()) > 5 { // +0100 CET, as Go prints it
		s.rest = before
	}
	return len(hours) == 2 && east < 60 && c.offset <= 16*3600 && c.offset >= -16*3600
}

// ticks returns the instant. A clock without a zone is read in the given one.
func (c *civil) ticks(zone *time.Location) (tables.Ticks, error) {
	wall := time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.sec, 0, time.UTC).Unix()
	seconds := wall - int64(c.offset)
	if !c.zoned && zone != time.UTC {
		found := map[int64]bool{}
		for _, near := range []int64{wall - 26*3600, wall + 26*3600} {
			offset := offsetAt(near, zone)
			if seconds = wall - offset; offsetAt(seconds, zone) == offset {
				found[seconds] = true
			}
		}
		if len(found) != 1 {
			how := map[int]string{0: "is skipped", 2: "occurs twice"}[len(found)]
			return 0, fmt.Errorf("%s in %s, where clocks change; write it with its offset from UTC", how, zone)
		}
		for seconds = range found {
		}
	}
	at, err := ticksOf(time.Unix(seconds, 0))
	return at + c.frac, err
}

// ticksOf returns the ticks of a time, whose offset may have moved it out of the years that ticks have.
func ticksOf(t time.Time) (tables.Ticks, error) {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return 0, errNoTime
	}
	return tables.TicksOf(t), nil
}

func offsetAt(seconds int64, zone *time.Location) int64 {
	_, offset := time.Unix(seconds, 0).In(zone).Zone()
	return int64(offset)
}

func month(name string) int {
	if len(name) < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		full := strings.ToLower(m.String())
		if low := strings.ToLower(name); low == full[:3] || low == full || low == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// A scanner takes parts from the beginning of a text.
type scanner struct{ rest string }

// weekday skips the name of a day of the week.
func (s *scanner) weekday() {
	before := s.rest
	name := strings.ToLower(s.letters())
	if name == "" {
		return
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if full := strings.ToLower(d.String()); len(name) >= 3 && (name == full || name == full[:3]) {
			s.skip(", ")
			return
		}
	}
	s.rest = before
}

func (s *scanner) takeDigits(n int) (taken string) {
	taken, s.rest = s.rest[:n], s.rest[n:]
	return taken
}

func (s *scanner) digits(most int) string {
	n := 0
	for n < len(s.rest) && n < most && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	return s.takeDigits(n)
}

func (s *scanner) letters() string {
	n := strings.IndexFunc(s.rest, func(r rune) bool { return !unicode.IsLetter(r) })
	if n < 0 {
		n = len(s.rest)
	}
	return s.takeDigits(n)
}

// skip takes characters of a set.
func (s *scanner) skip(set string) string {
	return s.takeDigits(len(s.rest) - len(strings.TrimLeft(s.rest, set)))
}

// number parses at most 18 digits. An empty text is -1.
func number(digits string) (n int) {
	if digits == "" {
		return -1
	}
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
