package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furrow/cmd/internal/setup"

	"github.com/goccy/go-yaml/ast"
)

// A reader reads the nodes of a file, and notes what is wrong with them.
type reader struct {
	file     string
	path     []string // what is being read: a pipeline, and what of it
	anchors  map[string]ast.Node
	left     int // nodes that may still be read, as aliases can multiply them
	owners   map[string]owner
	problems Problems
}

func (r *reader) say(line, column int, format string, args ...any) {
	if len(r.problems) == maxProblems {
		return
	}
	where := strings.Join(append(slices.Clone(r.path), ""), ": ")
	r.problems = append(r.problems, Problem{r.file, line, column, where + fmt.Sprintf(format, args...)})
}

// problem notes what is wrong with a node.
func (r *reader) problem(n ast.Node, format string, args ...any) {
	line, column := place(n)
	r.say(line, column, format, args...)
}

// within names what is read by read, for its problems.
func (r *reader) within(part string, read func()) {
	r.path = append(r.path, part)
	read()
	r.path = r.path[:len(r.path)-1]
}

// value is the node that n stands for: an alias stands for what its anchor names.
func (r *reader) value(n ast.Node) (ast.Node, bool) {
	for r.left > 0 {
		r.left--
		switch of := n.(type) {
		case *ast.AnchorNode:
			n = of.Value
		case *ast.AliasNode:
			name := of.Value.String()
			if n = r.anchors[name]; n == nil {
				r.problem(of, "there is no anchor %s", quote("&"+name))
				return nil, false
			}
		case *ast.TagNode:
			r.problem(of, "tag %s; want the value alone", quote(of.GetToken().Value))
			return nil, false
		default:
			return n, n != nil
		}
		if n == nil {
			return nil, false
		}
	}
	return nil, false // Parse says so
}

// A key is one that a map may have, and how its value is read.
type key struct {
	name string
	read func(ast.Node)
	must bool // it may not be left out
}

// object reads a map of known keys, each at most once and in the order of keys,
// so that a later one may heed what an earlier one has read.
func (r *reader) object(n ast.Node, want string, keys ...key) {
	values := map[string]ast.Node{}
	meant := map[string]bool{} // keys that are there, or misspelt
	names := namesOf(keys)
	of, ok := r.pairs(n, want, func(name string, at, value ast.Node) {
		if slices.Contains(names, name) {
			values[name], meant[name] = value, true
			return
		}
		meant[setup.Nearest(name, names)] = true
		r.problem(at, "key %s is not known%s; want %s", quote(name), didYouMean(name, names), cmp.Or(list(names), want))
	})
	for _, k := range keys {
		if value, there := values[k.name]; there {
			k.read(value)
		} else if ok && k.must && !meant[k.name] {
			r.problem(of, "key %q is missing; want %s", k.name, want)
		}
	}
}

func namesOf(keys []key) (names []string) {
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// pairs calls read for each pair of a map whose key is there for the first time,
// and says of the others that they are there twice.
func (r *reader) pairs(n ast.Node, want string,
	read func(name string, at, value ast.Node)) (m *ast.MappingNode, ok bool) {
	of, ok := r.value(n)
	if !ok {
		return nil, false
	}
	if m, ok = of.(*ast.MappingNode); !ok {
		r.problem(of, "%s; want %s", describe(of), want)
		return nil, false
	}
	lines := map[string]int{}
	for _, pair := range m.Values {
		name, ok := r.keyName(pair.Key)
		if !ok {
			continue
		}
		if line, twice := lines[name]; twice {
			r.problem(pair.Key, "key %s is there twice, first in line %d", quote(name), line)
			continue
		}
		lines[name], _ = place(pair.Key)
		read(name, pair.Key, pair.Value)
	}
	return m, true
}

func (r *reader) keyName(n ast.MapKeyNode) (string, bool) {
	if n.IsMergeKey() {
		r.problem(n, "the merge key << is not understood; write out what it stands for, or name a whole value with *")
		return "", false
	}
	word := ast.Node(n)
	if explicit, ok := n.(*ast.MappingKeyNode); ok { // behind a question mark
		word = explicit.Value
	}
	if text, ok := scalar(word); ok {
		return text, true
	}
	r.problem(n, "a key that is no word; want one")
	return "", false
}

// items are the nodes of a list, which is not empty.
func (r *reader) items(name string, n ast.Node, want string) []ast.Node {
	of, ok := r.value(n)
	if !ok {
		return nil
	}
	s, ok := of.(*ast.SequenceNode)
	switch {
	case !ok:
		r.problem(of, "%s: %s; want %s", name, describe(of), want)
		return nil
	case len(s.Values) == 0:
		r.problem(of, "%s: an empty list; want %s", name, want)
	}
	return s.Values
}

// scalar is the text of a node, without quotes, and where it is.
func (r *reader) scalar(name string, n ast.Node, want string) (text string, at ast.Node, ok bool) {
	at, ok = r.value(n)
	if !ok {
		return "", nil, false
	}
	if text, ok = scalar(at); !ok {
		r.problem(at, "%s: %s; want %s", name, describe(at), want)
	}
	return text, at, ok
}
