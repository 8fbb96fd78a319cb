package times

import (
	"slices"
	"strings"

	"furrow/tables"
)

// A Guess finds the format of a column from its values.
type Guess struct {
	Terms  Terms
	Values int

	candidates           []Candidate
	dayFirst, monthFirst bool // a value begins with the day for sure, or with the month
}

// A Candidate is a format, and what the values mean in it.
type Candidate struct {
	Format
	Fits               int // values that it reads
	Zoned              int // values with a zone
	First, Early, Last tables.Ticks
	FirstText          string

	sum uint64 // of all times: equal formats have equal sums
}

// NewGuess begins a guess. Only the given formats are tried, or all if there is none.
func NewGuess(t Terms, formats ...Format) *Guess {
	g := &Guess{Terms: t}
	if len(formats) == 0 {
		for _, name := range []string{"iso", "dmy", "mdy", "ymd"} {
			formats = append(formats, Format{Name: name, order: strings.Replace(name, "mdy", guessedMonthFirst, 1)})
		}
		for _, name := range []string{"s", "ms", "us", "ns", "ticks", "filetime", "excel"} {
			formats = append(formats, Format{Name: name, count: counts()[name]})
		}
	}
	for _, f := range formats {
		g.candidates = append(g.candidates, Candidate{Format: f})
	}
	return g
}

// IsTime reports whether a text is a time in some format.
func IsTime(text string) bool {
	g := NewGuess(Terms{})
	g.Add(text)
	return len(g.Found()) > 0
}

// enough is how many values decide that a format which reads none of them is tried no more.
const enough = 100

// Add adds a value.
func (g *Guess) Add(text string) {
	if g.Values++; g.Values == enough {
		first := g.candidates[0]
		g.candidates = slices.DeleteFunc(g.candidates, func(c Candidate) bool {
			same := first.order == "iso" && first.Fits == enough-1 && c.order != "iso" && c.sum == first.sum
			return c.Fits == 0 || same // all begin with the year: the order of day and month does not matter
		})
	}
	var dmy, mdy bool
	for i := range g.candidates {
		c := &g.candidates[i]
		before := c.Fits
		c.add(text, g.Terms)
		dmy = dmy || c.order == "dmy" && c.Fits > before
		mdy = mdy || c.order == guessedMonthFirst && c.Fits > before
	}
	g.dayFirst, g.monthFirst = g.dayFirst || dmy && !mdy, g.monthFirst || mdy && !dmy
}

func (c *Candidate) add(text string, t Terms) {
	padded := len(text) > 1 && text[0] == '0' && text[1] != '.'
	if c.count.ticks > 0 && padded && (c.Name != "ticks" || len(text) < 19) {
		return // only row keys have leading zeros
	}
	at, zoned, err := c.parse(text, t.zone())
	plausible := err == nil && t.plausible(at) == nil
	if err != nil || !plausible && c.count.ticks > 0 {
		return
	}
	c.Fits++
	c.sum = c.sum*1099511628211 + uint64(at)
	if zoned {
		c.Zoned++
	}
	if !plausible {
		return
	}
	if c.First == 0 {
		c.First, c.FirstText, c.Early = at, text, at
	}
	c.Early, c.Last = min(c.Early, at), max(c.Last, at)
}

// Found returns the formats that read most values, and at least half of them. Where there are several, they do not
// agree on the times, unless all of the values that begin with the year are enough. Equal ones count once.
func (g *Guess) Found() (best []Candidate) {
	most := 0
	for _, c := range g.candidates {
		most = max(most, c.Fits)
	}
	if most == 0 || 2*most < g.Values {
		return nil
	}
	mixed := g.dayFirst && g.monthFirst // somebody has to decide what 02/03 is
	for _, c := range g.candidates {
		twin := slices.ContainsFunc(best, func(o Candidate) bool { return o.sum == c.sum })
		if c.Fits == most && !twin || mixed && (c.order == "dmy" || c.order == guessedMonthFirst) {
			best = append(best, c)
		}
	}
	if iso := g.candidates[0]; len(best) > 1 && iso.order == "iso" && iso.Fits < most && 2*iso.Fits >= g.Values {
		return []Candidate{iso}
	}
	return best
}

// IsDate reports whether a time of the column is a day without a clock.
func (c Candidate) IsDate() bool {
	return c.order != "" && c.First%tables.Day == 0 && !strings.Contains(c.FirstText, ":")
}

// Certain reports whether digits can mean nothing else than a time in this format: a number of days is small enough to
// be any measure.
func (c Candidate) Certain() bool { return c.Name != "excel" }

// SameAs reports whether both formats read the same times from their columns.
func (c Candidate) SameAs(o Candidate) bool { return c.sum == o.sum }
