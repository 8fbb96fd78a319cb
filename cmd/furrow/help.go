package main

import (
	"embed"
	"fmt"
	"strings"
)

//go:generate go test -run ^TestReferenceIsFresh$ . -update
//go:generate go test -run ^TestEveryKeyIsDocumented$ ../internal/config -update

// reference holds a Markdown file for each topic of "furrow help".
//
//go:embed reference/*.md
var reference embed.FS

// A topic is a page of the reference.
type topic struct{ name, title, text string }

// topics returns the pages of the reference by name.
func topics() (all []topic) {
	files, _ := reference.ReadDir("reference") // reading what is embedded does not fail
	for _, f := range files {
		text, _ := reference.ReadFile("reference/" + f.Name())
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		all = append(all, topic{strings.TrimSuffix(f.Name(), ".md"), title, string(text)})
	}
	return all
}

// topicList is the part of the program's help that names the topics.
func topicList() string {
	var b strings.Builder
	b.WriteString("Run 'furrow help TOPIC' to read about:")
	for _, t := range topics() {
		fmt.Fprintf(&b, "\n  %-15s %s", t.name, t.title)
	}
	return b.String()
}

// topicAsked returns the text of the topic that the command line asks for, if it does.
func topicAsked(args []string) (text string, ok bool) {
	if len(args) != 3 || args[1] != "help" {
		return "", false
	}
	for _, t := range topics() {
		if t.name == args[2] {
			return t.text, true
		}
	}
	return "", false
}

// examples ends the description of a command with lines that a person could type.
func examples(lines ...string) string {
	return "\n\nExamples:\n  furrow " + strings.Join(lines, "\n  furrow ")
}
