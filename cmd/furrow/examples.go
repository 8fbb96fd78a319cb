package main

import "strings"

// examples ends the description of a command with lines that a person could type.
func examples(lines ...string) string {
	return "\n\nExamples:\n  furrow " + strings.Join(lines, "\n  furrow ")
}
