package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one mistake in a file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // in characters, from 1
	Text   string `json:"text"`
}

func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Text)
}

// Problems are all mistakes in a file, by line.
type Problems []Problem

func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %s:", p.Count())
	for _, one := range p {
		b.WriteString("\n" + one.String())
	}
	return b.String()
}

// Count returns "a problem" or "2 problems".
func (p Problems) Count() string {
	switch len(p) {
	case 1:
		return "a problem"
	case maxProblems:
		return fmt.Sprintf("%d problems or more", maxProblems)
	}
	return fmt.Sprintf("%d problems", len(p))
}

// sorted sorts problems by line, and drops those that aliases repeat.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(p)
}
