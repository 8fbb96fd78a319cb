package answers

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Printable escapes characters of a text that act on terminals, where a pager or cat would show it: ESC is \x1b, and
// U+009B is \u009b. Tabs and the ends of lines stay.
func Printable(text string) string {
	if plain(text) || !strings.ContainsFunc(text, acts) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !acts(r): // perhaps bytes that are no UTF-8
			_, size := utf8.DecodeRuneInString(text[i:])
			b.WriteString(text[i : i+size])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// plain reports whether a text has ASCII alone that acts on nothing, as nearly all have. It is faster than acts.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] >= 0x7f {
			return false
		}
	}
	return true
}

// acts reports whether a character is a control character, which terminals may obey.
func acts(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0
}

// PrintableJSON escapes, in valid JSON, the characters that act on terminals and that JSON may have unescaped: DEL,
// and U+0080 to U+009F.
func PrintableJSON(b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] != 0x7f && (b[i] != 0xc2 || i+1 == len(b) || b[i+1] >= 0xa0) {
			continue
		}
		out := append([]byte(nil), b[:i]...)
		for _, r := range string(b[i:]) {
			if acts(r) && r >= 0x7f {
				out = fmt.Appendf(out, `\u%04x`, r)
			} else {
				out = utf8.AppendRune(out, r)
			}
		}
		return out
	}
	return b
}
