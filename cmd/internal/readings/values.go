package readings

import (
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A numeral says how a text can be a number.
type numeral struct {
	point, comma bool // it is one with that decimal separator
	fraction     bool // it has one
	code, long   bool // digits that would change as a number: 0042, or more than a double holds
}

// differs reports whether the decimal separator changes the value: 1,234 is either a thousand or one and a bit.
func (n numeral) differs(text string) bool {
	return n.point && n.comma && strings.ContainsAny(text, ".,")
}

var (
	withPoint = regexp.MustCompile(`^[+-]?(\d+|\d{1,3}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?$`)
	withComma = regexp.MustCompile(`^[+-]?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+)?(,\d*)?([eE][+-]?\d+)?$`) // +0105,1 is two codes
	spaced    = regexp.MustCompile(`^[+-]?\d{1,3}(?:[\x{a0}\x{202f}\x{2009}]\d{3})+(?:[.,]\d*)?$`)
	codeLike  = regexp.MustCompile(`^\d+[eE]\d+$`)
)

// cleaned returns a text with ASCII's minus and without the marks and spaces that some locales put into numbers.
func cleaned(text string) string {
	for i := range len(text) {
		if text[i] >= 0x80 {
			text = strings.NewReplacer("\u200e", "", "\u200f", "", "\u061c", "", "\u2212", "-").Replace(text)
			if spaced.MatchString(text) {
				text = strings.NewReplacer("\u00a0", "", "\u202f", "", "\u2009", "").Replace(text)
			}
			break
		}
	}
	return text
}

// numeralOf looks at a text.
func numeralOf(text string) (n numeral) {
	text = cleaned(text)
	if text == "" || strings.Trim(text, "+-.,0123456789eE") != "" || !strings.ContainsAny(text, "0123456789") ||
		codeLike.MatchString(text) {
		return n
	}
	if _, plain := number(text, '.'); plain && !strings.Contains(text, ".") {
		n.point, n.comma = true, true
	} else if plain || !strings.ContainsAny(text, "eE") || strings.Contains(text, ",") {
		n.point = withPoint.MatchString(text)
		n.comma = withComma.MatchString(text)
	}
	n.fraction = strings.ContainsAny(text, ".,eE")
	if digits, _, _ := strings.Cut(strings.TrimLeft(text, "+-"), "."); !strings.ContainsAny(text, ",eE") && digits != "" {
		f, err := strconv.ParseFloat(digits, 64)
		n.code = len(digits) > 1 && digits[0] == '0' && digits == text
		n.long = err != nil || len(digits) > 15 && strconv.FormatFloat(f, 'f', -1, 64) != strings.TrimLeft(digits, "0")
	}
	return n
}

// isAddress reports whether a text may be an address of the Internet's protocol: 192.168.178.123 is also 192 billion.
func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// number returns the value of a number with a decimal separator.
func number(text string, decimal rune) (float64, bool) {
	text = cleaned(text)
	if decimal == ',' {
		if strings.Contains(text, ".") && !withComma.MatchString(text) {
			return 0, false
		}
		text = strings.Replace(strings.ReplaceAll(text, ".", ""), ",", ".", 1)
	} else if strings.Contains(text, ",") {
		if !withPoint.MatchString(text) {
			return 0, false
		}
		text = strings.ReplaceAll(text, ",", "")
	}
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// isMissing reports whether a text stands for no value where a number is wanted.
func isMissing(text string) bool {
	if len(text) > len("unavailable") {
		return false
	}
	switch strings.ToLower(text) {
	case "", "na", "n/a", "#n/a", "nan", "null", "(null)", "none", "nil", "unavailable", "unknown", "-", "--", "---", "?",
		`\n`, "#nv": // MySQL and PostgreSQL write \N, and German Excel #NV
		return true
	}
	return text[0] == '#' && strings.ContainsRune("!?", rune(text[len(text)-1])) // Excel's errors
}

// boolean returns the value of true or false.
func boolean(text string) (value, ok bool) {
	switch text {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}
