package config

import "github.com/goccy/go-yaml/ast"

// An owner is the pipeline that has something which no other may have: a name, or
// an output. Two pipelines that write one output would overtake one another for ever.
type owner struct {
	label string
	line  int
}

// own gives a thing to a pipeline, or tells which one has it already.
func (r *reader) own(thing, label string, at ast.Node) (other owner, taken bool) {
	other, there := r.owners[thing]
	if !there {
		line, _ := place(at)
		r.owners[thing] = owner{label, line}
	}
	return other, there
}
