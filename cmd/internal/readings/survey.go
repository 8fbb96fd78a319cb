package readings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
)

// A kind is the type of all values of a column.
type kind string

const (
	numbers  kind = "number"
	booleans kind = "boolean"
	texts    kind = "text"
	typed    kind = "as in the file" // each value has a type of its own
	nothing  kind = "empty"
)

// A column is what the values of a column, or of a sensor of the long form, have in common.
type column struct {
	name  string
	typed bool // the format tells the types of values

	values   int // that are not empty
	blanks   int // texts without characters
	words    int // of values that mean that there is none
	bools    int
	point    int // numbers with a decimal point
	comma    int
	fraction int
	codes    int // digits that begin with zero
	long     int // digits that a double does not hold
	digits   int // texts with digits that are no numbers
	natives  int // numbers of a typed format
	texts    int // of a typed format
	counts   int // values that count rows, from 0 or 1
	base     int // of them
	clocks   int
	address  int    // values that are one, or a number with separated thousands
	misfit   string // the first value that is neither a number nor a word
	odd      string // the first of those with digits
	first    string

	separated string // the first number that a point and a comma explain differently, of those with a comma if any
	points    string // the first one that only a point explains
	commas    string // the first one that only a comma explains

	guess *times.Guess // if it may be the time
	seen  map[string]bool
	more  bool // more different values than are kept

	kind    kind
	decimal rune
	misfits int // values that do not fit
}

// maxSeen bounds the memory for different values of a column.
const maxSeen = 50_000

func (c *column) add(cell tabular.Cell, row int) {
	if cell.IsBlank() {
		count(&c.blanks, cell.Kind != 0)
		return
	}
	text := cell.Text
	if c.values++; c.values == 1 {
		c.first = text
	}
	if c.guess != nil {
		c.guess.Add(text)
		if times.IsClock(text) {
			c.clocks++
		}
	}
	if c.seen != nil && !c.more {
		c.seen[text] = true
		c.more = len(c.seen) > maxSeen
	}
	n := numeralOf(text)
	if _, is := boolean(text); is {
		c.bools++
	}
	switch {
	case c.typed && cell.Kind != '"' && cell.Kind != '0':
		return
	case c.typed && cell.Kind == '"':
		n = numeral{}
		c.texts++
	case c.typed:
		if c.natives++; strings.ContainsAny(text, "eE") {
			if _, fits := number(text, '.'); !fits {
				c.misfits, c.misfit = c.misfits+1, text
			}
		}
	}
	switch {
	case n.point || n.comma:
	case isMissing(text):
		c.words++
	default:
		if c.misfit == "" {
			c.misfit = text
		}
		if strings.ContainsAny(text, "0123456789") {
			c.digits, c.odd = c.digits+1, cmp.Or(c.odd, text)
		}
	}
	count(&c.point, n.point)
	count(&c.comma, n.comma)
	count(&c.fraction, n.fraction)
	count(&c.codes, n.code)
	count(&c.long, n.long)
	switch {
	case n.differs(text):
		if c.separated == "" || strings.Contains(text, ",") && !strings.Contains(c.separated, ",") {
			c.separated = text
		}
	case n.point && !n.comma:
		c.points = cmp.Or(c.points, text)
	case n.comma && !n.point && isAddress(text):
		c.address++
	case n.comma && !n.point:
		c.commas = cmp.Or(c.commas, text)
	}
	if row == 1 && text == "1" {
		c.base = 1
	}
	if row-1 == c.counts && text == strconv.Itoa(c.counts+c.base) {
		c.counts++
	}
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

// decide finds the type. The separator is that of the other columns of the file, or zero.
func (c *column) decide(decimal, forced rune) error {
	rest := c.values - c.words
	numeric := max(c.point, c.comma)
	switch {
	case c.values == 0:
		c.kind = nothing
	case c.typed && c.long > 0:
		c.kind = texts
	case c.typed:
		if c.kind = typed; c.natives > 0 && c.natives == rest {
			c.kind = numbers
		}
	case rest > 0 && c.bools == rest:
		c.kind = booleans
	case numeric == 0 || c.digits > 0 || 2*numeric < rest || c.long > 0 || c.address == rest ||
		c.codes > 0 && c.fraction == 0:
		c.kind = texts
	default:
		c.kind, c.misfits = numbers, rest-numeric
		return c.decideDecimal(decimal, forced)
	}
	return nil
}

func (c *column) decideDecimal(decimal, forced rune) error {
	switch {
	case forced != 0:
		c.decimal = forced
		if fits := map[bool]int{true: c.comma, false: c.point}[forced == ',']; fits < max(c.point, c.comma) {
			c.kind, c.misfits = texts, 0
		}
	case c.point > c.comma:
		c.decimal, c.misfit = '.', cmp.Or(c.misfit, c.commas)
	case c.comma > c.point:
		c.decimal, c.misfit = ',', cmp.Or(c.misfit, c.points)
	case c.separated == "", decimal != ',' && !strings.Contains(c.separated, ","):
		c.decimal = '.'
	case decimal != 0 && strings.Contains(c.separated, string(decimal)):
		c.decimal = decimal
	case decimal == '.':
		c.decimal = '.'
	default:
		return &tabular.UnclearError{What: "the comma or point in numbers of column " + c.name + ", such as " +
			tabular.Printable(c.separated, 20) + ", may begin decimals or separate thousands", Flag: "decimal",
			Choices: []tabular.Choice{{Value: ",", Means: ""}, {Value: ".", Means: ""}}}
	}
	return nil
}

// value returns what a cell means: a float64, a bool, a text, or nil if there is no value.
func (c *column) value(cell tabular.Cell) any {
	text := cell.Text
	switch {
	case cell.Kind == 0 || c.kind == "", cell.IsBlank() && !c.ofTexts():
		return nil
	case c.kind == numbers && !c.typed:
		if n, ok := number(text, c.decimal); ok && !codeLike.MatchString(text) {
			return n
		}
		if isMissing(text) {
			return nil
		}
		return text
	case c.kind == booleans:
		if b, ok := boolean(text); ok {
			return b
		}
		if isMissing(text) {
			return nil
		}
		return text
	case c.typed && c.kind != texts:
		switch cell.Kind {
		case '0':
			n, ok := number(text, '.')
			if !ok {
				return text
			}
			return n
		case 't', 'f':
			return cell.Kind == 't'
		case '"':
			if c.natives > 0 && isMissing(text) {
				return nil
			}
		}
	}
	return text
}

// mayBeNumbers reports whether a column is text because of values that look like numbers with something else, though
// most may be numbers: 5 kWh, or <0,05 among others.
func (c *column) mayBeNumbers() bool {
	rest := c.values - c.words
	return c.kind == texts && !c.typed && c.digits > 0 && (2*max(c.point, c.comma) >= rest ||
		c.digits == rest && strings.IndexAny(c.first, "0123456789.+-") == 0)
}

// ofTexts reports whether a typed format has texts alone in the column: an empty one is one of them.
func (c *column) ofTexts() bool { return c.typed && c.texts > 0 && c.texts == c.values }

// stored returns how many values are not missing.
func (c *column) stored() int {
	if c.ofTexts() {
		return c.values + c.blanks
	}
	return c.values - c.missing()
}

// missing returns how many values stand for none.
func (c *column) missing() int {
	if c.kind == numbers || c.kind == booleans || c.typed && c.natives > 0 {
		return c.words
	}
	return 0
}

// repeats reports whether values of the column occur again, as the names of devices do.
func (c *column) repeats() bool { return !c.more && 10*len(c.seen) <= 9*c.values }

// decideAll finds the types of columns. If all that are clear have one decimal separator, it is that of the file.
func decideAll(columns []*column, forced rune) error {
	comma := slices.ContainsFunc(columns, func(c *column) bool {
		return c.commas != "" && c.points == "" && c.digits == 0
	})
	point := slices.ContainsFunc(columns, func(c *column) bool {
		return c.points != "" && c.commas == "" && c.digits == 0
	})
	decimal := rune(0)
	if comma != point {
		decimal = map[bool]rune{true: ',', false: '.'}[comma]
	}
	for _, c := range columns {
		if err := c.decide(decimal, forced); err != nil {
			return err
		}
	}
	return nil
}
