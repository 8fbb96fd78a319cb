// Package condition has the language of conditions on readings, the same in models, rules, retention and queries:
//
//	oil > 190 and quality == "good"
//	action == nil && mass_of_contents == nil
//	state in ["open", "ajar"] or labels.class startsWith "fry"
//	distance(lat, lon, 57.15, -2.09) > 500
//
// It is written as github.com/expr-lang/expr is, and has the part of it that takes a bounded time and knows no clock.
// A name is a sensor: a number, a text, or nil where the reading does not have it. labels.NAME is a label of the
// device.
// A comparison with something absent or of another type does not hold, and arithmetic with it is absent, so a
// condition on any reading has an answer.
package condition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// MaxText is how many bytes a condition may have.
const MaxText = 1000

// A Condition is a condition that was read. It is safe for concurrent use.
type Condition struct {
	text  string
	parts []part // joined by and

	sensors  []string
	members  []string
	ofMember string // the first member of a sensor that it names, as in oil.max
	labels   bool
	patterns int // instructions
}

// A part is one of the conditions that are joined by and.
type part struct {
	holds  eval
	labels bool // it asks for labels
}

// A Row has what a condition asks for.
type Row struct {
	Sensor  func(name string) Value // the name of a sensor, or sensor.member
	Labels  map[string]string
	Context context.Context // ends a long match, whose outcome is then worthless; nil: nothing does
}

// Parse reads a condition. If it is about more than one value of each sensor, such as the min and max of a span of
// time, members has their names.
func Parse(text string, members ...string) (*Condition, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the condition has %d bytes; want at most %d", len(text), MaxText)
	}
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, plain(err)
	}
	c := &Condition{text: text, members: members}
	any := false
	for _, n := range joined(tree.Node, nil) {
		c.labels = false
		holds, err := c.compile(n)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, part{holds, c.labels})
		any = any || c.labels
	}
	c.labels = any
	if !isCondition(tree.Node) {
		return nil, fmt.Errorf("%s is no condition; compare it with something, as in %[1]s > 0", tree.Node)
	}
	return c, nil
}

// joined appends the conditions that a node joins by and.
func joined(n ast.Node, all []ast.Node) []ast.Node {
	if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "and" || b.Operator == "&&") {
		return joined(b.Right, joined(b.Left, all))
	}
	return append(all, n)
}

// isCondition reports whether a node is true or false, and not a number or a text.
func isCondition(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BoolNode:
		return true
	case *ast.UnaryNode:
		return n.Operator == "not" || n.Operator == "!"
	case *ast.BinaryNode:
		return arithmetic(n.Operator) == nil
	}
	return false
}

// plain returns the parser's error in one line.
func plain(err error) error {
	if e, ok := errors.AsType[*file.Error](err); ok {
		return fmt.Errorf("character %d: %s", e.Column+1, strings.TrimSpace(e.Message))
	}
	return err
}

// Holds reports whether the condition holds for a row.
func (c *Condition) Holds(r Row) bool {
	return !slices.ContainsFunc(c.parts, func(p part) bool { return !p.holds(r).true() })
}

// MayHold reports whether the condition can hold for a row with some labels, which are not looked at.
func (c *Condition) MayHold(r Row) bool {
	return !slices.ContainsFunc(c.parts, func(p part) bool { return !p.labels && !p.holds(r).true() })
}

// Sensors returns the sensors that the condition names, in the order of its text.
func (c *Condition) Sensors() []string { return c.sensors }

// CheckMembers returns an error if the condition is about members of sensors, which single values do not have.
func (c *Condition) CheckMembers() error {
	if c.ofMember == "" {
		return nil
	}
	return fmt.Errorf("%s; %s", c.ofMember, (&Condition{}).whatHasMembers())
}

// Labels reports whether the condition asks for labels.
func (c *Condition) Labels() bool { return c.labels }

// String returns the text; empty for none.
func (c *Condition) String() string {
	if c == nil {
		return ""
	}
	return c.text
}
