package config

import (
	"fmt"
	"strings"

	"furrow/cmd/internal/setup"

	"github.com/goccy/go-yaml/ast"
)

// place returns where a node begins. A map begins at its first key, because its own token is the first colon.
func place(n ast.Node) (line, column int) {
	switch of := n.(type) {
	case nil: // behind an alias for more than is read
		return 1, 1
	case *ast.MappingNode:
		if !of.IsFlowStyle && len(of.Values) > 0 {
			return place(of.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return place(of.Key)
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return 1, 1
	}
	return t.Position.Line, max(t.Position.Column, 1)
}

// scalar returns the text of a node that is not a map, a list or empty.
func scalar(n ast.Node) (string, bool) {
	switch of := n.(type) {
	case *ast.StringNode:
		return of.Value, true
	case *ast.LiteralNode:
		return of.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return of.GetToken().Value, true
	}
	return "", false
}

// describe describes a node for problems.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "no value"
	}
	if text, ok := scalar(n); ok {
		return quote(text)
	}
	return "a " + strings.ToLower(n.Type().String())
}

// quote quotes a word of the file, and shortens a long one.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Sprintf("%q", s)
}

func didYouMean(word string, names []string) string {
	if name := setup.Nearest(word, names); name != "" {
		return fmt.Sprintf(" (did you mean %s?)", name)
	}
	return ""
}

// list formats names as "a, b or c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
