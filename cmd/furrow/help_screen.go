package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// printHelp prints the help of a command as cli.HelpPrinter does, but in screenWidth columns.
func printHelp(w io.Writer, template string, command any) {
	var b bytes.Buffer
	cli.HelpPrinterCustom(&b, template, command, nil)
	_, first := command.(*cli.App)
	_, _ = io.WriteString(w, fitted(b.String(), first)) // cli's own printer reports no error either
}

// helpIndent begins the lines of a help text below their heading.
const helpIndent = "   "

// fitted breaks the long lines of a help text: lists beside their first column, and paragraphs as a whole. On the first
// screen, commands are in groups.
func fitted(help string, first bool) string {
	blocks := strings.Split(help, "\n\n")
	for i, block := range blocks {
		title, lines, titled := strings.Cut(block, ":\n")
		switch {
		case !titled || strings.HasPrefix(title, " "):
			blocks[i] = fittedProse(block)
		case title == "COMMANDS" && first:
			blocks[i] = title + ":\n" + groupedCommands(fittedList(lines))
		case strings.HasSuffix(title, "OPTIONS") || title == "COMMANDS":
			blocks[i] = title + ":\n" + fittedList(lines)
		case title == "NAME" || title == "DESCRIPTION":
			blocks[i] = title + ":\n" + fittedProse(lines)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// fittedProse leaves lines that are indented further, such as examples, as they are.
func fittedProse(lines string) string {
	paragraph := regexp.MustCompile(`(?m)^` + helpIndent + `\S.*(?:\n` + helpIndent + `\S.*)*$`)
	return paragraph.ReplaceAllStringFunc(lines, func(p string) string {
		words := strings.Join(strings.Fields(p), " ")
		return helpIndent + wrapped(words, len(helpIndent))
	})
}

// fittedList makes the first column as narrow as its names: cli shows the name of a flag that can be repeated twice.
func fittedList(lines string) string {
	row, repeated := regexp.MustCompile(`^\s+(\S.*?)(?:  +(\S.*))?$`), regexp.MustCompile(` \[ --.* \]$`)
	var rows [][2]string
	widest := 0
	for line := range strings.Lines(lines) {
		if cells := row.FindStringSubmatch(strings.TrimSuffix(line, "\n")); cells != nil {
			name := repeated.ReplaceAllString(cells[1], "")
			rows = append(rows, [2]string{name, cells[2]})
			widest = max(widest, len(name))
		}
	}
	var out []string
	for _, r := range rows {
		line := fmt.Sprintf("%s%-*s  %s", helpIndent, widest, r[0], wrapped(r[1], len(helpIndent)+widest+2))
		out = append(out, strings.TrimRight(line, " "))
	}
	if strings.HasSuffix(lines, "\n") { // the last list of the help
		out = append(out, "")
	}
	return strings.Join(out, "\n")
}

// A commandGroup has the commands of the first screen that belong together, by their names.
type commandGroup struct{ title, names string }

func commandGroups() []commandGroup {
	return []commandGroup{
		{"A fleet on this machine", "up demo simulate storage"},
		{"Devices", "enrollment device token import model command"},
		{"Readings", "query rejects verify archive"},
		{"Incidents", "rule incident mute notify"},
		{"Operation", "status jobs config rewind audit retention access activity"},
		{"Copies and costs", "backup restore copy estimate cost"},
		{"Roles, one by one", "schedule worker sas dashboard deploy health"},
		{"This program", "completion version"},
	}
}

// groupedCommands puts the lines of a list of commands into groups.
func groupedCommands(list string) string {
	lines := map[string]string{}
	last := ""
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, helpIndent) && !strings.HasPrefix(line, helpIndent+" ") {
			last = strings.Fields(line)[0]
		}
		lines[last] += "  " + strings.TrimSuffix(line, "\n") + "\n"
	}
	var b strings.Builder
	for _, g := range commandGroups() {
		b.WriteString(helpIndent + g.title + "\n")
		for name := range strings.FieldsSeq(g.names) {
			b.WriteString(lines[name])
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
