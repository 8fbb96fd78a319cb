package condition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

type eval func(Row) Value

// compile returns what evaluates a node.
func (c *Condition) compile(n ast.Node) (eval, error) {
	switch n := n.(type) {
	case *ast.NilNode:
		return constant(Value{}), nil
	case *ast.BoolNode:
		return constant(truth(n.Value)), nil
	case *ast.IntegerNode:
		return constant(Number(float64(n.Value))), nil
	case *ast.FloatNode:
		return constant(Number(n.Value)), nil
	case *ast.StringNode:
		return constant(Text(n.Value)), nil
	case *ast.IdentifierNode:
		return c.sensor(n.Value)
	case *ast.ChainNode:
		return c.compile(n.Node)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.BuiltinNode:
		return c.call(n)
	case *ast.CallNode:
		if name, is := n.Callee.(*ast.IdentifierNode); is && name.Value == "distance" {
			return c.distance(n)
		}
	}
	return nil, fmt.Errorf("%s cannot be part of a condition", n)
}

func constant(v Value) eval { return func(Row) Value { return v } }

func (c *Condition) sensor(name string) (eval, error) {
	if name == "labels" {
		return nil, fmt.Errorf("labels alone; want one of them, as in labels.class")
	}
	c.name(name)
	return func(r Row) Value { return r.Sensor(name) }, nil
}

func (c *Condition) name(sensor string) {
	if !slices.Contains(c.sensors, sensor) {
		c.sensors = append(c.sensors, sensor)
	}
}

// member reads labels.NAME, labels["NAME"] or a member of a sensor.
func (c *Condition) member(n *ast.MemberNode) (eval, error) {
	of, isName := n.Node.(*ast.IdentifierNode)
	name, isText := n.Property.(*ast.StringNode)
	if isName && isText && slices.Contains(c.members, name.Value) && of.Value != "labels" {
		c.name(of.Value)
		full := of.Value + "." + name.Value
		c.ofMember = cmp.Or(c.ofMember, full)
		return func(r Row) Value { return r.Sensor(full) }, nil
	}
	if !isName || !isText || of.Value != "labels" {
		return nil, fmt.Errorf("%s; %s", n, c.whatHasMembers())
	}
	c.labels = true
	return func(r Row) Value {
		if label, ok := r.Labels[name.Value]; ok {
			return Text(label)
		}
		return Value{}
	}, nil
}

func (c *Condition) whatHasMembers() string {
	if len(c.members) == 0 {
		return "only labels have members, as in labels.class: nested values are sensors, their names joined by _"
	}
	return "sensors have the members " + strings.Join(c.members, ", ") + ", and labels their names, as in labels.class"
}

func (c *Condition) unary(n *ast.UnaryNode) (eval, error) {
	of, err := c.compile(n.Node)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "not", "!":
		return func(r Row) Value { return truth(!of(r).true()) }, nil
	case "-":
		return func(r Row) Value {
			v := of(r)
			if v.is != number {
				return Value{}
			}
			return Number(-v.number)
		}, nil
	}
	return nil, fmt.Errorf("operator %s is not known in conditions", n.Operator)
}

func (c *Condition) binary(n *ast.BinaryNode) (eval, error) {
	left, err := c.compile(n.Left)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "in":
		return c.in(left, n.Right)
	case "matches":
		pattern, ok := n.Right.(*ast.StringNode)
		if !ok {
			return nil, fmt.Errorf("matches %s; want a regular expression in quotes", n.Right)
		}
		return c.matches(left, pattern.Value)
	}
	right, err := c.compile(n.Right)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "and", "&&":
		return func(r Row) Value { return truth(left(r).true() && right(r).true()) }, nil
	case "or", "||":
		return func(r Row) Value { return truth(left(r).true() || right(r).true()) }, nil
	case "==":
		return func(r Row) Value { return truth(left(r) == right(r)) }, nil
	case "!=":
		return func(r Row) Value { return truth(left(r) != right(r)) }, nil
	}
	if order := ordering(n.Operator); order != nil {
		return func(r Row) Value {
			a, b := left(r), right(r)
			return truth(both(a, b) && order(cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))))
		}, nil
	}
	if test := textTest(n.Operator); test != nil {
		return func(r Row) Value {
			a, b := left(r), right(r)
			return truth(both(a, b) && a.is == text && test(a.text, b.text))
		}, nil
	}
	if of := arithmetic(n.Operator); of != nil {
		return func(r Row) Value {
			a, b := left(r), right(r)
			if !both(a, b) || a.is != number {
				return Value{}
			}
			if f := of(a.number, b.number); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return Number(f)
			}
			return Value{}
		}, nil
	}
	return nil, fmt.Errorf("operator %s is not known in conditions", n.Operator)
}

// ordering returns the test of an operator on how its operands compare, or nil.
func ordering(operator string) func(order int) bool {
	return map[string]func(int) bool{
		"<":  func(o int) bool { return o < 0 },
		"<=": func(o int) bool { return o <= 0 },
		">":  func(o int) bool { return o > 0 },
		">=": func(o int) bool { return o >= 0 },
	}[operator]
}

func textTest(operator string) func(a, b string) bool {
	return map[string]func(a, b string) bool{"contains": strings.Contains, "startsWith": strings.HasPrefix,
		"endsWith": strings.HasSuffix}[operator]
}

func arithmetic(operator string) func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		"+": func(a, b float64) float64 { return a + b },
		"-": func(a, b float64) float64 { return a - b },
		"*": func(a, b float64) float64 { return a * b },
		"/": func(a, b float64) float64 { return a / b },
		"%": math.Mod,
	}[operator]
}

// compileAll returns what evaluates each of several nodes.
func (c *Condition) compileAll(nodes []ast.Node) ([]eval, error) {
	all := make([]eval, len(nodes))
	for i, n := range nodes {
		var err error
		if all[i], err = c.compile(n); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *Condition) in(left eval, n ast.Node) (eval, error) {
	list, ok := n.(*ast.ArrayNode)
	if !ok {
		return nil, fmt.Errorf(`in %s; want a list, as in state in ["open", "ajar"]`, n)
	}
	items, err := c.compileAll(list.Nodes)
	if err != nil {
		return nil, err
	}
	return func(r Row) Value {
		v := left(r)
		return truth(slices.ContainsFunc(items, func(item eval) bool { return item(r) == v }))
	}, nil
}

// call compiles abs(number) and lower(text).
func (c *Condition) call(n *ast.BuiltinNode) (eval, error) {
	if len(n.Arguments) != 1 || n.Name != "abs" && n.Name != "lower" {
		return nil, fmt.Errorf("%s is not known in conditions; there are abs(number), lower(text) and "+
			"distance(lat, lon, lat, lon)", n.Name)
	}
	of, err := c.compile(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	return func(r Row) Value {
		switch v := of(r); {
		case n.Name == "abs" && v.is == number:
			return Number(math.Abs(v.number))
		case n.Name == "lower" && v.is == text:
			return Text(strings.ToLower(v.text))
		}
		return Value{}
	}, nil
}
