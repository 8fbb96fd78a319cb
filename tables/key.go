package tables

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Separator stands between the parts of a composite key. It sorts before
// every character that a part may have, so composite keys sort part by part:
// the rows of the devices from a to b are one range, whatever their lengths.
const Separator = "!"

const (
	maxKey  = 1024 // UTF-16 units in a key: learn.microsoft.com, "Understanding the Table service data model"
	maxName = 64   // characters in a tenant, a site, a suffix
	maxID   = 128  // characters in a device id, as Azure IoT Hub has them

	letters = "letters, digits and - . _ :"
)

// CheckKey says why Azure would refuse s as a PartitionKey or RowKey, or
// would not find it again: / \ # ? and control characters are forbidden, %
// is decoded once too often on some paths.
func CheckKey(s string) error {
	if s == "" {
		return fmt.Errorf("key is empty")
	}
	units, position := 0, 0
	for i, r := range s {
		position++
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return fmt.Errorf("key %s: byte %#x at position %d is not UTF-8", quote(s), s[i], position)
		}
		if strings.ContainsRune(`/\#?%`, r) || r < 0x20 || 0x7f <= r && r <= 0x9f {
			return fmt.Errorf("key %s: character %q at position %d is not allowed in a key (nor are / \\ # ? %% and control characters)", quote(s), r, position)
		}
		units += utf16Units(r)
	}
	if units > maxKey {
		return fmt.Errorf("key %s has %d characters; a key has at most %d", quote(s), units, maxKey)
	}
	return nil
}

// checkPart says why s cannot be a part of a key: what is its noun.
func checkPart(what, s string, most int) error {
	if s == "" {
		return fmt.Errorf("%s is empty; use 1 to %d of %s", what, most, letters)
	}
	for i, r := range s {
		if !isLetter(r) {
			return fmt.Errorf("%s %s: character %q at position %d is not allowed; use %s", what, quote(s), r, utf8.RuneCountInString(s[:i])+1, letters)
		}
	}
	if len(s) > most {
		return fmt.Errorf("%s %s has %d characters; at most %d are allowed", what, quote(s), len(s), most)
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

// split cuts a composite key into exactly n parts.
func split(what, s string, n int) ([]string, error) {
	parts := strings.Split(s, Separator)
	if len(parts) != n {
		return nil, fmt.Errorf("%s %s: want %d parts between %q, not %d", what, quote(s), n, Separator, len(parts))
	}
	return parts, nil
}

// quote shortens s so that a hostile key cannot fill a log.
func quote(s string) string {
	const most = maxID + 16
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + "…"
}

func utf16Units(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}
