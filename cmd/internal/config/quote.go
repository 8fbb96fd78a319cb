package config

import (
	"strings"

	"github.com/goccy/go-yaml/token"
)

// unquoted reports words that mean something else in YAML without quotes: *, and % at the beginning. The parser says
// so in other words and of other places, or takes % as it is, which other programs do not.
func (r *reader) unquoted(tokens token.Tokens) bool {
	for i, t := range tokens {
		word, why, is := "", "", false
		switch {
		case t.Type == token.AliasType:
			if word, is = aliasWord(tokens[i:]); !is {
				continue
			}
			why = "* begins an alias"
		case t.Type == token.DirectiveType && t.Position.Column > 1,
			t.Type == token.StringType && strings.HasPrefix(t.Value, "%") && (i == 0 || !isBlock(tokens[i-1])):
			word, why = t.Value, "% begins a directive"
		default:
			continue
		}
		r.addProblem(t.Position.Line, t.Position.Column, "not YAML: %s; quote it: %q", why, word)
	}
	return len(r.problems) > 0
}

// aliasWord returns the word that an alias would be with quotes, if it names no anchor: * alone, or a key.
func aliasWord(tokens token.Tokens) (word string, is bool) {
	alias := tokens[0].Position
	if len(tokens) > 1 {
		if next := tokens[1]; next.Type == token.StringType && next.Position.Line == alias.Line &&
			next.Position.Column == alias.Column+1 {
			word = next.Value
		}
	}
	name, isKey := strings.CutSuffix(word, ":")
	return "*" + name, isKey || word == ""
}

// isBlock tells whether the text after a token is a block, in which nothing has to be quoted.
func isBlock(t *token.Token) bool { return t.Type == token.FoldedType || t.Type == token.LiteralType }

// hint says what to do about an error of the parser, where its message does not.
func hint(message string) string {
	for _, h := range []struct{ part, hint string }{
		{`'\t'`, "indent with spaces, not with a tab"},
		{"tab character", "use spaces instead of the tab"},
		{"reserved character", "quote the text"},
		{"mapping value is not allowed", "quote a text that contains a colon"},
		{"map key-value is pre-defined", "quote the whole of the text"},
		{"value is not allowed", "check that the line is indented like the others of its kind"},
		{"non-map value", "write a space after the colon"},
		{"invalid header option", "a text that begins with > or | has to be quoted"},
		{"invalid tag character", "a text that begins with ! has to be quoted"},
		{"could not find flow map content", "a key and its value are missing, or there is a comma too many"},
		{"could not find map value", "a value is missing; one that begins with # has to be quoted"},
	} {
		if strings.Contains(message, h.part) {
			return "; " + h.hint
		}
	}
	return ""
}
