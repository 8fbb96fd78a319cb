package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"furrow/tables/schema"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file. The parser takes quadratic time for maps (33 s for 120,000 tokens) and for nesting, and aliases
// can multiply nodes.
const (
	maxFile     = schema.MaxConfiguration // bytes, so that every file can be stored
	maxTokens   = 30_000
	maxDepth    = 20 // of brackets, and of dashes in one line
	maxNodes    = 100_000
	maxProblems = 1000 // more are not listed
)

// parse returns the only document of a file.
func (r *reader) parse(text []byte) (root ast.Node, ok bool) {
	if len(text) > maxFile {
		r.addProblem(1, 1, "the file has more than %d bytes, the most that is read", maxFile)
		return nil, false
	}
	if line, column, bad := unreadable(text); bad {
		r.addProblem(line, column, "a character that is not text; want UTF-8 without control characters")
		return nil, false
	}
	tokens := lexer.Tokenize(plain(string(text)))
	if !r.bounded(tokens) || r.unquoted(tokens) {
		return nil, false
	}
	// The reader reports all duplicate keys.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil, false
	}
	return r.document(file)
}

// plain removes what editors on Windows add, because the lexer would miscount lines.
func plain(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
}

// unreadable returns the place of the first character that YAML does not allow.
func unreadable(text []byte) (line, column int, bad bool) {
	line, column = 1, 1
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && n == 1, c < ' ' && c != '\n' && c != '\r' && c != '\t', c >= 0x7f && c < 0xa0:
			return line, column, true
		case c == '\n':
			line, column = line+1, 0
		}
		text, column = text[n:], column+1
	}
	return 0, 0, false
}

// bounded checks the bounds of tokens. The number of lines bounds nesting by indentation, except for several dashes in
// one line, which are lists in lists.
func (r *reader) bounded(tokens token.Tokens) bool {
	brackets, dashes, line := 0, 0, 0
	for i, t := range tokens {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			dashes++
		}
		if i >= maxTokens {
			r.addProblem(line, t.Position.Column, "the file has more than %d words and signs, the most that is read",
				maxTokens)
			return false
		}
		if brackets+dashes > maxDepth {
			r.addProblem(line, t.Position.Column, "nested more than %d levels deep, the most that is read", maxDepth)
			return false
		}
	}
	return true
}

// syntax reports an error of the parser.
func (r *reader) syntax(err error) {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok || e.GetToken() == nil || e.GetToken().Position == nil {
		r.addProblem(1, 1, "not YAML: %v", err)
		return
	}
	at := e.GetToken().Position
	message := strings.NewReplacer("\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(e.GetMessage())
	r.addProblem(max(at.Line, 1), max(at.Column, 1), "not YAML: %s%s", message, hint(message))
}

func (r *reader) document(file *ast.File) (root ast.Node, ok bool) {
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.addProblem(1, 1, "the file is empty; want pipelines: and a list of them ('furrow config init' writes an example)")
		return nil, false
	case 1:
		r.anchors = map[string]ast.Node{}
		ast.Walk(anchors{r}, bodies[0])
		return bodies[0], true
	}
	r.problem(bodies[1], "a second document; want one per file")
	return nil, false
}

// anchors collects the anchors of a document.
type anchors struct{ reader *reader }

func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		name := anchor.Name.String()
		if a.reader.anchors[name] != nil {
			a.reader.problem(anchor, "anchor %s occurs twice", quote("&"+name))
		}
		a.reader.anchors[name] = anchor.Value
	}
	return a
}
