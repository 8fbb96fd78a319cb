package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furrow/cmd/internal/setup"

	"github.com/goccy/go-yaml/ast"
)

// A reader decodes the nodes of a file, and collects all problems. The decoder of goccy/go-yaml stops at the first one.
type reader struct {
	file     string
	edition  Edition
	path     []string // to what is being read, for problems
	anchors  map[string]ast.Node
	left     int              // nodes that may still be read, because aliases multiply them
	owners   map[string]owner // of names and outputs
	problems Problems
	said     int     // how many problems there are, with those that are not listed
	config   *Config // what has been read
}

func (r *reader) addProblem(line, column int, format string, args ...any) {
	if r.said++; r.said > maxProblems {
		return
	}
	where := strings.Join(append(slices.Clone(r.path), ""), ": ")
	r.problems = append(r.problems, Problem{r.file, line, column, where + fmt.Sprintf(format, args...)})
}

// problem records a problem of a node.
func (r *reader) problem(n ast.Node, format string, args ...any) {
	line, column := place(n)
	r.addProblem(line, column, format, args...)
}

// mistake records a problem of a node, if there is one.
func (r *reader) mistake(n ast.Node, err error) {
	if err != nil {
		r.problem(n, "%v", err)
	}
}

// within calls read with part added to the path.
func (r *reader) within(part string, read func()) {
	r.path = append(r.path, part)
	read()
	r.path = r.path[:len(r.path)-1]
}

// value resolves aliases.
func (r *reader) value(n ast.Node) (ast.Node, bool) {
	for r.left > 0 {
		r.left--
		switch of := n.(type) {
		case *ast.AnchorNode:
			n = of.Value
		case *ast.AliasNode:
			name := of.Value.String()
			if n = r.anchors[name]; n == nil {
				r.problem(of, "there is no anchor %s; quote a text that begins with *", quote("&"+name))
				return nil, false
			}
		case *ast.TagNode:
			r.problem(of, "tag %s; want the value alone, or quotes around all of it", quote(of.GetToken().Value))
			return nil, false
		default:
			return n, n != nil
		}
		if n == nil {
			return nil, false
		}
	}
	return nil, false // Parse reports it
}

// object reads a map of known keys in the order of keys, so that a later one can use the result of an earlier one.
func (r *reader) object(n ast.Node, want string, keys ...key) {
	values := map[string]ast.Node{}
	meant := map[string]bool{} // keys that exist, or are misspelled
	names := namesOf(keys)
	of, ok := r.pairs(n, want, func(name string, at, value ast.Node) {
		if slices.Contains(names, name) {
			values[name], meant[name] = value, true
			return
		}
		meant[setup.Nearest(name, names)] = true
		r.problem(at, "unknown key %s%s; want %s", quote(name), didYouMean(name, names), cmp.Or(list(names), want))
	})
	for _, late := range []bool{false, true} {
		for _, k := range keys {
			if value, there := values[k.name]; there && k.late == late {
				k.read(value)
			} else if ok && k.must && !there && !late && !meant[k.name] {
				r.problem(of, "key %q is missing; want %s", k.name, want)
			}
		}
	}
}

func namesOf(keys []key) (names []string) {
	for _, k := range keys {
		names = append(names, k.name)
	}
	return names
}

// pairs calls read for each pair of a map, and reports duplicate keys.
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
			r.problem(pair.Key, "key %s occurs twice, first in line %d", quote(name), line)
			continue
		}
		lines[name], _ = place(pair.Key)
		read(name, pair.Key, pair.Value)
	}
	return m, true
}

func (r *reader) keyName(n ast.MapKeyNode) (string, bool) {
	if n.IsMergeKey() {
		r.problem(n, "the merge key << is not supported; write its keys here, or use an alias for a whole value")
		return "", false
	}
	word := ast.Node(n)
	if explicit, ok := n.(*ast.MappingKeyNode); ok { // after a question mark
		word = explicit.Value
	}
	if text, ok := scalar(word); ok {
		return text, true
	}
	if _, null := word.(*ast.NullNode); null {
		r.problem(n, "a key that means nothing in YAML; quote it: %q", word.GetToken().Value)
		return "", false
	}
	r.problem(n, "a key that is no word; want a word")
	return "", false
}

// items returns the nodes of a list, and reports an empty one.
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

// scalar returns the text of a node without quotes, and the node after aliases.
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

// An owner is the pipeline with a name or an output that no other pipeline may have: two writers of one output would
// overwrite each other forever.
type owner struct {
	label string
	line  int
}

// own makes the pipeline that is being read the owner of a thing, unless it has one.
func (r *reader) own(thing string, at ast.Node) (other owner, taken bool) {
	other, taken = r.owners[thing]
	if !taken {
		line, _ := place(at)
		r.owners[thing] = owner{r.path[0], line}
	}
	return other, taken
}
