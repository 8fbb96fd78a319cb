package main

import "strings"

// A shellLine is a command line as a POSIX shell splits it. Variables are not expanded.
type shellLine struct {
	words []string // at least two; the last is before the cursor
	quote byte     // in which the last word is; zero for none
}

func splitLine(text string) shellLine {
	var l shellLine
	var word strings.Builder
	escaped, inWord := false, false
	for i := range len(text) {
		b := text[i]
		inWord = inWord || b != ' ' && b != '\t'
		switch {
		case escaped:
			escaped = false
			word.WriteByte(b)
		case b == '\\' && l.quote != '\'':
			escaped = true
		case l.quote != 0 && b == l.quote:
			l.quote = 0
		case l.quote == 0 && (b == '\'' || b == '"'):
			l.quote = b
		case l.quote == 0 && inWord && (b == ' ' || b == '\t'):
			l.words = append(l.words, word.String())
			word.Reset()
			inWord = false
		case inWord:
			word.WriteByte(b)
		}
	}
	l.words = append(l.words, word.String())
	if len(l.words) < 2 {
		l.words = []string{l.words[0], ""}
	}
	return l
}

// rest returns what readline puts in the place of the last word for a candidate: readline keeps what is before the last
// of the characters breaks, such as a colon, unless it is in quotes.
func (l shellLine) rest(candidate, breaks string) string {
	if l.quote != 0 {
		return candidate
	}
	last := l.words[len(l.words)-1]
	kept := 0
	for i, b := range []byte(last) {
		if strings.IndexByte(breaks, b) >= 0 && strings.IndexByte(":=@", b) >= 0 {
			kept = i + 1
		}
	}
	if !strings.HasPrefix(candidate, last[:kept]) {
		return ""
	}
	var escaped strings.Builder
	for _, r := range candidate[kept:] {
		if r < 0x80 && strings.IndexByte(" \t\"'\\`$&|;<>()*?[]{}#!~", byte(r)) >= 0 {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(r)
	}
	return escaped.String()
}
