package odata

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"furrow/tables/local/internal/entity"
)

// A token is a word, a literal, a parenthesis, or the end.
type token struct {
	kind  tokenKind
	text  string
	value entity.Value // of a literal
}

type tokenKind byte

const (
	end tokenKind = iota
	word
	literal
	open
	shut
)

// A lexer splits a $filter into tokens.
type lexer struct{ rest string }

func (l *lexer) next() (token, error) {
	l.rest = strings.TrimLeft(l.rest, " \t\r\n")
	if l.rest == "" {
		return token{kind: end, text: "the end"}, nil
	}
	switch c := l.rest[0]; {
	case c == '(' || c == ')':
		l.rest = l.rest[1:]
		if c == '(' {
			return token{kind: open, text: "("}, nil
		}
		return token{kind: shut, text: ")"}, nil
	case c == '\'':
		return l.quoted("")
	case c >= '0' && c <= '9' || c == '-' || c == '.':
		return l.number()
	}
	return l.word()
}

// quoted reads a quoted string, in which quotes are doubled, as a literal of the type
// that its prefix names.
func (l *lexer) quoted(prefix string) (token, error) {
	text, rest, ok := Unquote(l.rest)
	if !ok {
		return token{}, syntax("a quote is not closed")
	}
	l.rest = rest
	v, ok := typed(prefix, text)
	if !ok {
		return token{}, syntax(strconv.Quote(text) + " is not a " + prefix)
	}
	return token{kind: literal, text: "a literal", value: v}, nil
}

// Unquote cuts a quoted string, in which quotes are doubled, from the start of s.
func Unquote(s string) (text, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, "'")
	var b strings.Builder
	for ok {
		if text, rest, ok = strings.Cut(s, "'"); !ok {
			break
		}
		b.WriteString(text)
		var doubled bool
		if s, doubled = strings.CutPrefix(rest, "'"); !doubled {
			return b.String(), rest, true
		}
		b.WriteByte('\'')
	}
	return "", "", false
}

func typed(prefix, text string) (v entity.Value, ok bool) {
	switch strings.ToLower(prefix) {
	case "":
		return entity.Value{Type: entity.String, Raw: []byte(text)}, utf8.ValidString(text)
	case "datetime":
		return entity.ParseDateTime(text)
	case "guid":
		return entity.ParseGUID(text)
	case "x", "binary":
		raw, err := hex.DecodeString(text)
		if err != nil {
			raw, err = base64.StdEncoding.DecodeString(text)
		}
		return entity.Value{Type: entity.Binary, Raw: raw}, err == nil
	}
	return v, false
}

func (l *lexer) number() (token, error) {
	n := strings.IndexFunc(l.rest[1:], func(c rune) bool {
		return !unicode.IsDigit(c) && !unicode.IsLetter(c) && c != '.' && c != '-' && c != '+'
	})
	text := l.rest
	if n >= 0 {
		text = l.rest[:n+1]
	}
	l.rest = l.rest[len(text):]
	v, ok := parseNumber(text)
	if !ok {
		return token{}, syntax(strconv.Quote(text) + " is not a number")
	}
	return token{kind: literal, text: text, value: v}, nil
}

// parseNumber parses a number of OData: 1 is an Int32, 1L an Int64, and 1.0, 1e0 and
// 1d are Doubles.
func parseNumber(text string) (entity.Value, bool) {
	if digits, long := strings.CutSuffix(strings.ToUpper(text), "L"); long {
		n, err := strconv.ParseInt(digits, 10, 64)
		return entity.Value{Type: entity.Int64, Num: n}, err == nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n == int64(int32(n)) {
			return entity.Value{Type: entity.Int32, Num: n}, true
		}
		return entity.Value{Type: entity.Int64, Num: n}, true
	}
	return entity.ParseDouble(strings.TrimRight(text, "dDfFmM"))
}

func (l *lexer) word() (token, error) {
	n := strings.IndexFunc(l.rest, func(c rune) bool {
		return c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.In(c, unicode.M, unicode.Pc)
	})
	text := l.rest
	if n >= 0 {
		text = l.rest[:n]
	}
	if text == "" {
		c, _ := utf8.DecodeRuneInString(l.rest)
		return token{}, syntax("the character " + strconv.QuoteRune(c) + " is not expected")
	}
	l.rest = l.rest[len(text):]
	if strings.HasPrefix(l.rest, "'") {
		return l.quoted(text)
	}
	switch strings.ToLower(text) { // SDKs write the names of their language
	case "true":
		return token{kind: literal, text: text, value: entity.Value{Type: entity.Boolean, Num: 1}}, nil
	case "false":
		return token{kind: literal, text: text, value: entity.Value{Type: entity.Boolean}}, nil
	}
	return token{kind: word, text: text}, nil
}

func syntax(reason string) error {
	return entity.Invalid("A syntax error in $filter: " + reason + ".")
}
