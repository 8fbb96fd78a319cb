package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"furrow/tables"
)

// Separator is between the parts of a composite key. It sorts before every character of a
// part, so composite keys sort part by part: the rows of the devices from a to b are one
// range, whatever the lengths of their IDs.
const Separator = "!"

const (
	maxSuffix = 64  // characters in a suffix
	maxID     = 128 // characters in a device ID, as Azure IoT Hub has them

	letters = "letters, digits and - . _ :"
)

// checkPart returns why s cannot be a part of a key. The error starts with what.
func checkPart(what, s string, most int) error {
	if s == "" {
		return fmt.Errorf("%s is empty; use 1 to %d of %s", what, most, letters)
	}
	for i, r := range s {
		if !isLetter(r) {
			return fmt.Errorf("%s %s: character %q at position %d is not allowed; use %s", what, tables.Quote(s), r,
				utf8.RuneCountInString(s[:i])+1, letters)
		}
	}
	if len(s) > most {
		return fmt.Errorf("%s %s has %d characters; at most %d are allowed", what, tables.Quote(s), len(s), most)
	}
	return nil
}

func isLetter(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	}
	return r == '-' || r == '.' || r == '_' || r == ':'
}

// into sets what to points at to what parse makes of a text, and returns why the text is invalid.
func into[T any](to *T, text string, parse func(string) (T, error)) (err error) {
	*to, err = parse(text)
	return err
}

// split splits a composite key into exactly n parts.
func split(what, s string, n int) ([]string, error) {
	parts := strings.Split(s, Separator)
	if len(parts) != n {
		return nil, fmt.Errorf("%s %s: want %d parts between %q, not %d", what, tables.Quote(s), n, Separator, len(parts))
	}
	return parts, nil
}
