package config

import "github.com/goccy/go-yaml/ast"

// An owner is the pipeline that has something which no other may have: a name, or
// an output. Two pipelines that write one output would overtake one another for ever.
type owner struct {
	nth   int
	label string
	line  int
}

// own gives a thing to a pipeline, or tells which other one has it.
func (r *reader) own(thing string, nth int, label string, at ast.Node) (other owner, taken bool) {
	other, there := r.owners[thing]
	if !there {
		line, _ := place(at)
		r.owners[thing] = owner{nth, label, line}
	}
	return other, there && other.nth != nth
}
