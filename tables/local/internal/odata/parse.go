// Package odata parses the part of OData's $filter that the Table service has,
// evaluates it on stored rows, and computes which keys it can match.
package odata

import (
	"strconv"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// Limits of a filter. The service documents 15 comparisons
// (learn.microsoft.com/rest/api/storageservices/querying-tables-and-entities).
const (
	MaxComparisons = 15
	MaxDepth       = 64 // of parentheses and nots
)

// Parse parses a $filter. An empty one is nil, which matches everything.
func Parse(filter string) (Expr, error) {
	p := &parser{lex: lexer{filter}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == end {
		return nil, nil
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != end {
		return nil, syntax("expected the end, found " + strconv.Quote(p.tok.text))
	}
	return e, nil
}

// parser is a recursive-descent parser: or, and, not, comparison.
type parser struct {
	lex         lexer
	tok         token
	depth       int
	comparisons int
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

func (p *parser) word(text string) bool { return p.tok.kind == word && p.tok.text == text }

func (p *parser) or() (Expr, error) {
	return p.chain("or", p.and, func(left, right Expr) Expr { return or{left, right} })
}

func (p *parser) and() (Expr, error) {
	return p.chain("and", p.not, func(left, right Expr) Expr { return and{left, right} })
}

// chain parses operands with an operator between them, from left to right.
func (p *parser) chain(operator string, operand func() (Expr, error), join func(left, right Expr) Expr) (Expr, error) {
	left, err := operand()
	for err == nil && p.word(operator) {
		var right Expr
		if err = p.advance(); err == nil {
			right, err = operand()
		}
		left = join(left, right)
	}
	return left, err
}

func (p *parser) not() (Expr, error) {
	if !p.word("not") {
		return p.primary()
	}
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.not()
	return not{e}, err
}

// nest enters a parenthesis or a not, up to the maximum depth.
func (p *parser) nest() error {
	if p.depth++; p.depth > MaxDepth {
		return entity.Invalid("The $filter is nested more than " + strconv.Itoa(MaxDepth) + " deep.")
	}
	return p.advance()
}

func (p *parser) primary() (Expr, error) {
	if p.tok.kind != open {
		return p.comparison()
	}
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != shut {
		return nil, syntax("expected \")\", found " + strconv.Quote(p.tok.text))
	}
	return e, p.advance()
}

// comparison parses "property operator literal", "literal operator property", or a
// Boolean property or literal alone.
func (p *parser) comparison() (Expr, error) {
	if p.comparisons++; p.comparisons > MaxComparisons {
		return nil, entity.Invalid("The $filter has more than " + strconv.Itoa(MaxComparisons) + " comparisons.")
	}
	left := p.tok
	if left.kind != word && left.kind != literal {
		return nil, syntax("expected a property or a literal, found " + strconv.Quote(left.text))
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if left.kind == word && p.tok.kind == open {
		return nil, wire.NotImplemented("the function " + left.text + " in $filter")
	}
	op, ok := operators[p.tok.text]
	if !ok || p.tok.kind != word {
		return alone(left)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	right := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case left.kind == word && right.kind == literal:
		return compare{left.text, op, right.value}, nil
	case left.kind == literal && right.kind == word:
		return compare{right.text, op.turned(), left.value}, nil
	}
	return nil, syntax("a comparison needs a property and a literal")
}

// alone returns the expression of a Boolean operand without an operator.
func alone(t token) (Expr, error) {
	if t.kind == word {
		return compare{t.text, eq, entity.Value{Type: entity.Boolean, Num: 1}}, nil
	}
	if t.value.Type == entity.Boolean {
		return constant(t.value.Num != 0), nil
	}
	return nil, syntax("a literal that is not a Boolean needs a comparison")
}
