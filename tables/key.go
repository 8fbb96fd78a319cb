package tables

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxKey is the maximum length of a key in UTF-16 units.
// learn.microsoft.com: "Understanding the Table service data model".
const maxKey = 1024

// CheckKey returns why Azure would refuse s as a PartitionKey or RowKey, or would not find
// it again, or nil: / \ # ? and control characters are forbidden, and some paths decode %
// once too often.
func CheckKey(s string) error {
	if s == "" {
		return fmt.Errorf("key is empty")
	}
	units, position := 0, 0
	for i, r := range s {
		position++
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return fmt.Errorf("key %s: byte %#x at position %d is not UTF-8", Quote(s), s[i], position)
		}
		if strings.ContainsRune(`/\#?%`, r) || r < 0x20 || 0x7f <= r && r <= 0x9f {
			return fmt.Errorf("key %s: character %q at position %d is not allowed in a key (nor are / \\ # ? %% and control "+
				"characters)", Quote(s), r, position)
		}
		units += utf16Units(r)
	}
	if units > maxKey {
		return fmt.Errorf("key %s has %d characters; a key has at most %d", Quote(s), units, maxKey)
	}
	return nil
}

// Quote quotes s, shortened so that a hostile key cannot fill a log.
func Quote(s string) string {
	const most = 144
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:most]) + "…"
}

// Clip shortens a text for people to so many bytes, and replaces what storage does not accept.
func Clip(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func utf16Units(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// CheckTable returns why Azure would refuse a table's name, or nil.
// learn.microsoft.com: "Understanding the Table service data model", Table names.
func CheckTable(name string) error {
	if len(name) < 3 || len(name) > 63 {
		return fmt.Errorf("table name %s: want 3 to 63 characters, not %d", Quote(name), len(name))
	}
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return fmt.Errorf("table name %s: character %q at position %d is not allowed; use letters and digits, "+
				"a letter first", Quote(name), r, i+1)
		}
	}
	if strings.EqualFold(name, "tables") {
		return fmt.Errorf("table name %q is reserved", name)
	}
	return nil
}
