package times

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // --zone means the same on every machine

	"furrow/tables"
)

// A Format is a way to write times.
type Format struct {
	Name  string // as the flag --time-format takes it
	count count  // if it is a number
	order string // of year, month and day, if it is a date
	text  string // Go's layout, if it is one
}

// Terms are what a file does not say about its times.
type Terms struct {
	Zone        *time.Location // of times without one; nil: UTC
	First, Last int            // years in which a time is plausible; zero: 1990 to 2100
}

func (t Terms) zone() *time.Location {
	if t.Zone == nil {
		return time.UTC
	}
	return t.Zone
}

// plausible returns an error for a time of another age: it is a calendar, a unit or a field that was never set.
func (t Terms) plausible(at tables.Ticks) error {
	first, last := t.First, t.Last
	if first == 0 {
		first, last = 1990, 2100
	}
	if at < 0 || at > tables.MaxTicks || at.Time().Year() < first || at.Time().Year() > last {
		return fmt.Errorf("is outside the years %d to %d; if it is right, use --years", first, last)
	}
	return nil
}

// Names returns the names of formats, for help.
func Names() string {
	return "iso, dmy, mdy, ymd, s, ms, us, ns, ticks, filetime, excel, a count such as \"seconds since 2025-01-01\", or " +
		"a layout of strftime (%d/%m/%Y %H:%M) or of Go (02/01/2006 15:04)"
}

// Named returns the format with a name.
func Named(name string) (Format, error) {
	switch name {
	case "iso", "dmy", "mdy", "ymd":
		return Format{Name: name, order: name}, nil
	}
	if c, ok := counts()[name]; ok {
		return Format{Name: name, count: c}, nil
	}
	if c, err := since(name); err == nil {
		return Format{Name: name, count: c}, nil
	}
	layout, err := strftime(name)
	if err != nil {
		return Format{}, err
	}
	probe := time.Date(2019, 11, 23, 21, 47, 58, 0, time.UTC).Format(layout)
	if at, err := time.Parse(layout, probe); err != nil || at.Year() < 2000 || layout == probe {
		return Format{}, fmt.Errorf("%q is not a format of times with a year: write %s", name, Names())
	}
	return Format{Name: name, text: layout}, nil
}

// Parse returns the time of a text, and whether the text has a zone.
func (f Format) Parse(text string, t Terms) (at tables.Ticks, zoned bool, err error) {
	at, zoned, err = f.parse(text, t.zone())
	if err == nil {
		err = t.plausible(at)
	}
	if err != nil {
		err = fmt.Errorf("%.40q %w", text, err)
	}
	return at, zoned, err
}

func (f Format) parse(text string, zone *time.Location) (tables.Ticks, bool, error) {
	switch {
	case f.count.ticks > 0:
		if key, _, ok := strings.Cut(text, "-"); ok && f.Name == "ticks" && len(key) == 19 { // a row key of Furrow
			text = key
		}
		at, err := f.count.parse(text)
		return at, true, err
	case f.order != "":
		c, err := parseCivil(text, f.order)
		if err != nil {
			return 0, false, err
		}
		at, err := c.ticks(zone)
		return at, c.zoned, err
	}
	if strings.Contains(f.text, "PM") { // Go wants them in the case of the layout
		text = strings.ReplaceAll(strings.ReplaceAll(text, "am", "AM"), "pm", "PM")
	}
	t, err := time.ParseInLocation(f.text, text, time.UTC) // time.Parse takes zones' names as this machine's
	if err != nil {
		return 0, false, errors.New("does not have the format of --time-format")
	}
	zoned := strings.Contains(f.text, "07") || strings.Contains(f.text, "MST")
	if name, offset := t.Zone(); strings.Contains(f.text, "MST") && offset == 0 {
		c := civil{}
		if s := (&scanner{rest: name}); !c.zone(s) || s.rest != "" {
			return 0, false, fmt.Errorf("has the zone %s, which is not known; write an offset", name)
		}
		at, err := ticksOf(t.Add(-time.Duration(c.offset) * time.Second))
		return at, true, err
	}
	if zoned {
		at, err := ticksOf(t)
		return at, true, err
	}
	c := civil{year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), minute: t.Minute(), sec: t.Second(),
		frac: tables.Ticks(t.Nanosecond() / 100)}
	at, err := c.ticks(zone)
	return at, false, err
}

// IsClock reports whether a text is a time of day without a date, such as 08:30 or 0830.
func IsClock(text string) bool {
	c := civil{year: 2000, month: 1, day: 1}
	s := &scanner{rest: " " + strings.TrimSpace(text)}
	return c.clock(s) && c.zone(s) && s.rest == "" && c.check() == nil
}

// strftime returns Go's layout for one of strftime. Other texts are Go's already.
func strftime(format string) (string, error) {
	if !strings.Contains(format, "%") {
		return format, nil
	}
	layouts := map[byte]string{'Y': "2006", 'y': "06", 'm': "1", 'd': "2", 'e': "_2", 'H': "15", 'I': "3", 'M': "4",
		'S': "5",
		'p': "PM", 'z': "-0700", 'Z': "MST", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday", 'j': "002",
		'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", '%': "%"}
	for _, between := range regexp.MustCompile("(?s)%.").Split(format, -1) {
		if time.Date(2019, 11, 23, 9, 47, 58, 0, time.UTC).Format(between) != between { // Go's layouts cannot quote
			return "", fmt.Errorf("%q in a format would be read as a part of the time: write %%z for an offset, and no "+
				"other digits or names", between)
		}
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if format[i] == 'f' || format[i] == 'L' { // Go reads a fraction after seconds by itself
			whole := strings.TrimRight(b.String(), ".,")
			b.Reset()
			b.WriteString(whole)
			continue
		}
		layout, ok := layouts[format[i]]
		if !ok {
			return "", fmt.Errorf("%%%c is not known; the known ones are %%Y %%y %%m %%d %%e %%H %%I %%M %%S %%f %%p %%z %%Z "+
				"%%b %%B %%a %%A %%j %%F %%T %%R", format[i])
		}
		next := i+1 < len(format) && format[i+1] == '%'
		if after := i > 2 && format[i-3] == '%'; len(layout) == 1 && (next || after && i > 2) {
			layout = "0" + layout // no separator tells where a number ends
		} else if layout == "2" && strings.HasSuffix(b.String(), "_") {
			layout = "02" // in Go's layouts, _2 is a day after a space
		}
		b.WriteString(layout)
	}
	return b.String(), nil
}

// ParseZone returns a zone by its name in the IANA database, such as Europe/Berlin, or by its offset, such as +02:00.
func ParseZone(text string) (*time.Location, error) {
	c := civil{}
	s := &scanner{rest: text}
	if text != "" && c.zone(s) && s.rest == "" && c.zoned {
		if c.offset == 0 {
			return time.UTC, nil
		}
		return time.FixedZone(text, c.offset), nil
	}
	zone, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return nil, fmt.Errorf("zone %q is not known; write Europe/Berlin, or an offset such as +02:00", text)
	}
	return zone, nil
}

// ParseYears returns the first and the last year of a text such as 1990-2100.
func ParseYears(text string) (first, last int, err error) {
	from, to, _ := strings.Cut(text, "-")
	first, err = strconv.Atoi(from)
	if err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first || last > 9999 {
		return 0, 0, fmt.Errorf("years %q: write the first and the last, such as 1990-2100", text)
	}
	return first, last, nil
}
