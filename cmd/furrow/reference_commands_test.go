package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A flagRow is a row of a table of flags.
type flagRow struct{ flag, preset, environment, meaning string }

// commandsPage renders every command with its flags and examples.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands and flags\n\nFlags may stand before or after arguments. `furrow COMMAND --help` shows the " +
		"same.\n\n")
	b.WriteString("| exit code | meaning |\n|---|---|\n" +
		"| 0 | The command did what was asked, or serves and was told to stop by SIGINT or SIGTERM. |\n" +
		"| 1 | Something failed; of `verify`: something differs that nothing explains. |\n" +
		"| 2 | The command line was wrong. |\n| 4 | `verify` could not look at everything, or was told to stop. |\n" +
		"| 130 | `import`, `copy`, `backup`, `restore` or `archive` was told to stop before its end, and has said where it " +
		"stands. |\n\n")
	b.WriteString("| command | summary |\n|---|---|\n")
	allCommands(func(name string, c *cli.Command) {
		fmt.Fprintf(&b, "| [`%s`](#furrow-%s) | %s |\n", name, strings.ReplaceAll(name, " ", "-"), cell(c.Usage))
	})
	common := commonFlags()
	b.WriteString("\n## Common flags\n\nCommands that work on a fleet take these flags.\n\n")
	writeFlags(&b, common)
	allCommands(func(name string, c *cli.Command) { writeCommand(&b, name, c, common) })
	return b.String()
}

// commonFlags returns the flags that eight commands or more have in common.
func commonFlags() (common []flagRow) {
	counts := map[flagRow]int{}
	allCommands(func(_ string, c *cli.Command) {
		for _, row := range flagRows(c) {
			if counts[row]++; counts[row] == 8 && !strings.HasPrefix(row.flag, "`--json") {
				common = append(common, row)
			}
		}
	})
	return common
}

func writeCommand(b *strings.Builder, name string, c *cli.Command, common []flagRow) {
	fmt.Fprintf(b, "\n## furrow %s\n\n%s.\n\n", name, strings.TrimSuffix(c.Usage, "."))
	fmt.Fprintf(b, "    furrow %s\n", strings.TrimSpace(name+" [flags] "+c.ArgsUsage))
	about, examples, _ := strings.Cut(c.Description, "Examples:\n")
	if about = strings.TrimSpace(about); about != "" {
		b.WriteString("\n" + markdown(about) + "\n")
	}
	var own []flagRow
	shared := ""
	for _, row := range flagRows(c) {
		if slices.Contains(common, row) {
			shared += ", " + row.flag
		} else {
			own = append(own, row)
		}
	}
	if len(own) > 0 {
		b.WriteString("\n")
		writeFlags(b, own)
	}
	if shared != "" {
		fmt.Fprintf(b, "\nIt also takes the [common flags](#common-flags) %s.\n", shared[2:])
	}
	if examples = strings.TrimSpace(examples); examples != "" {
		b.WriteString("\nExamples:\n\n```sh\n")
		for line := range strings.Lines(examples) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		b.WriteString("```\n")
	}
}

// markdown turns the text of a help page into Markdown: what is indented by two spaces there needs four.
func markdown(text string) string {
	var b strings.Builder
	indented := false
	for line := range strings.Lines(text) {
		code := strings.HasPrefix(line, "  ")
		if code != indented && strings.TrimSpace(line) != "" {
			indented = code
			if b.Len() > 0 {
				b.WriteString("\n")
			}
		}
		if code {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
}

func flagRows(c *cli.Command) (rows []flagRow) {
	for _, f := range c.Flags {
		visible, ok := f.(cli.VisibleFlag)
		doc, documented := f.(cli.DocGenerationFlag)
		if !ok || !documented || !visible.IsVisible() {
			continue
		}
		placeholder, meaning := splitPlaceholder(doc.GetUsage())
		row := flagRow{flag: "--" + f.Names()[0], meaning: meaning, preset: strings.Trim(doc.GetDefaultText(), `"`)}
		switch {
		case !doc.TakesValue():
			row.preset = ""
		case placeholder == "":
			row.flag += " VALUE"
		default:
			row.flag += " " + placeholder
		}
		row.flag = "`" + row.flag + "`"
		if vars := doc.GetEnvVars(); len(vars) > 0 {
			row.environment = "`" + strings.Join(vars, "`, `") + "`"
		}
		rows = append(rows, row)
	}
	return rows
}

// splitPlaceholder finds the quoted name of a flag's value in its usage.
func splitPlaceholder(usage string) (placeholder, meaning string) {
	m := regexp.MustCompile("`([^`]*)`").FindStringSubmatch(usage)
	if m == nil {
		return "", usage
	}
	return m[1], strings.Replace(usage, m[0], m[1], 1)
}

func writeFlags(b *strings.Builder, rows []flagRow) {
	b.WriteString("| flag | default | environment | meaning |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(r.flag), cell(r.preset), r.environment, cell(r.meaning))
	}
}

// cell escapes text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(text), "|", `\|`), "\n", " ")
}
