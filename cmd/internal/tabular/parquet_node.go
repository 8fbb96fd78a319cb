package tabular

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Kinds of nodes.
type nodeKind int

const (
	scalar     nodeKind = iota
	plainGroup          // its members are columns of their own, or an object in a list
	listGroup           // has one repeated node
	mapGroup            // has one repeated pair
	bareList            // a repeated node
	element             // the repeated group of a list, which holds only the element
	pair                // the repeated group of a map
)

// A node is a column, or a group of columns. Its levels say from which on it has a value, and on which it repeats.
type node struct {
	name     string
	kind     nodeKind
	def, rep int16
	children []*node
	leaf     *leaf // nil for groups
	first    *leaf
}

var errShort = errors.New("it has fewer values than the file has rows")

// cell returns the value of the next row.
func (n *node) cell() (Cell, error) {
	if n.leaf != nil && n.kind == scalar {
		_, c, err := n.leaf.nextEntry()
		return c, err
	}
	text, err := n.value(nil)
	if err == nil {
		err = n.refused()
	}
	if err != nil || string(text) == "null" {
		return Cell{}, err
	}
	return Cell{string(text), jsontext.Value(text).Kind()}, nil
}

// refused returns why a value of the row was refused. It is known only after all of the row's entries were taken: the
// next row begins where they end.
func (n *node) refused() (err error) {
	if n.leaf != nil {
		err, n.leaf.refused = n.leaf.refused, nil
	}
	for _, child := range n.children {
		err = errors.Join(err, child.refused())
	}
	return err
}

// value appends the next value as JSON.
func (n *node) value(b []byte) ([]byte, error) {
	def, _, err := n.first.peek()
	if err != nil {
		return nil, err
	}
	if n.kind == bareList || n.kind == element || n.kind == pair {
		return n.repeated(b, false)
	}
	if def < n.def {
		return append(b, "null"...), n.skip()
	}
	return n.one(b)
}

// one appends a value that is there.
func (n *node) one(b []byte) (_ []byte, err error) {
	switch {
	case n.leaf != nil:
		_, c, err := n.leaf.nextEntry()
		if _, is := errors.AsType[*LineError](err); is {
			err, n.leaf.refused = nil, err
		}
		if c.Kind == '"' {
			b, _ = jsontext.AppendQuote(b, c.Text)
		} else if c.Kind == 0 {
			b = append(b, "null"...)
		} else {
			b = append(b, c.Text...)
		}
		return b, err
	case n.kind == listGroup:
		return n.children[0].repeated(b, false)
	case n.kind == mapGroup:
		return n.children[0].repeated(b, true)
	case n.kind == element:
		return n.children[0].value(b)
	}
	b = append(b, '{')
	for i, child := range n.children {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, child.name)
		if b, err = child.value(append(b, ':')); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// repeated appends all values of a repeated node as a list, or as the members of an object.
func (n *node) repeated(b []byte, object bool) (_ []byte, err error) {
	brackets := "[]"
	if object {
		brackets = "{}"
	}
	b = append(b, brackets[0])
	def, _, err := n.first.peek()
	if err != nil {
		return nil, err
	}
	if def < n.def {
		return append(b, brackets[1]), n.skip()
	}
	for {
		if object {
			b, err = n.member(b)
		} else {
			b, err = n.one(b)
		}
		if err != nil {
			return nil, err
		}
		if _, rep, err := n.first.peek(); err != nil || rep < n.rep {
			if errors.Is(err, errShort) {
				err = nil
			}
			return append(b, brackets[1]), err
		}
		if b = append(b, ','); len(b) > MaxLine {
			return nil, errors.New("a value is longer than a row may be")
		}
	}
}

// member appends a pair of a map.
func (n *node) member(b []byte) ([]byte, error) {
	from := len(b)
	b, err := n.children[0].value(b)
	if err != nil {
		return nil, err
	}
	if key := string(b[from:]); key[0] != '"' {
		b, _ = jsontext.AppendQuote(b[:from], key)
	}
	return n.children[1].value(append(b, ':'))
}

// skip takes the entries of a value that is not there.
func (n *node) skip() error {
	if n.leaf != nil {
		_, _, err := n.leaf.nextEntry()
		return err
	}
	for _, child := range n.children {
		if err := child.skip(); err != nil {
			return err
		}
	}
	return nil
}
