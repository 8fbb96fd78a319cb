package web

import (
	"fmt"
	"html/template"
	"slices"

	"furrow/worker/dashboard/model"
)

// Each row of a list has a mark. These are functions, since templates that call each other in every row take longer
// than the rest of the row (BenchmarkRender).

// mark returns the symbol of a device's state.
func mark(state any) template.HTML {
	class := template.HTML(stateClass(state))
	return `<svg class="glyph ` + class + `" data-state="` + class +
		`" viewBox="-6 -6 12 12" aria-hidden="true"><use href="#m-` + class + `" x="-6" y="-6" width="12" height="12"/></svg>`
}

// chip returns a device's state with its symbol.
func chip(state any) template.HTML {
	class := template.HTML(stateClass(state))
	return `<span class="chip ` + class + `">` + mark(state) + class + `</span>`
}

// severe returns the symbol of a severity.
func severe(severity any) template.HTML {
	class := template.HTML(severityClass(severity))
	return `<svg class="glyph ` + class + `" viewBox="-6 -6 12 12" aria-hidden="true"><use href="#i-` + class +
		`" x="-6" y="-6" width="12" height="12"/></svg>`
}

// severeChip returns a severity with its symbol.
func severeChip(severity any) template.HTML {
	class := template.HTML(severityClass(severity))
	return `<span class="chip ` + class + `">` + severe(severity) + class + `</span>`
}

// stateClass returns a state that the styles know.
func stateClass(s any) model.State {
	switch s := model.State(fmt.Sprint(s)); s {
	case model.Unheard, model.Silent, model.Held, model.Revoked:
		return s
	}
	return model.OK
}

// severityClass returns a severity that the styles know.
func severityClass(s any) string {
	if text := fmt.Sprint(s); slices.Contains(model.Severities(), text) {
		return text
	}
	return "info"
}
