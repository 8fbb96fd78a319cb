package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"furrow/cmd/internal/readings"
	"furrow/cmd/internal/tabular"
)

// mostColumns is how many columns people are shown.
const mostColumns = 60

// printPlan says what was understood of a file. It prints nothing of the file that a terminal would obey.
func printPlan(w io.Writer, file string, p readings.Plan) {
	shown := func(text string) string { return tabular.Printable(text, 60) }
	form := p.Format
	for _, more := range []string{p.Form, p.Encoding} {
		if more != "" {
			form += ", " + more
		}
	}
	if p.Separator != "" {
		form += fmt.Sprintf(", separated by %q", p.Separator)
	}
	fmt.Fprintf(w, "%s: %s\n", file, form)
	if p.Device != "" {
		fmt.Fprintf(w, "device: column %s\n", shown(p.Device))
	}
	if p.Value != "" {
		fmt.Fprintf(w, "sensor: column %s, with its value in column %s\n", shown(p.Sensor), shown(p.Value))
	}
	fmt.Fprintf(w, "time: column %s, read as %s\n", shown(p.Time), p.TimeForm)
	switch {
	case p.ZoneGuess:
		fmt.Fprintln(w, "  times without a zone are taken as UTC; --zone names another one")
	case p.Zone != "":
		fmt.Fprintf(w, "  times without a zone are in %s\n", p.Zone)
	}
	for _, t := range p.Times {
		fmt.Fprintf(w, "  %-8s %s %s\n", t.Which, t.UTC, shown(t.Text))
	}
	columns := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "column\tsensor\ttype\tvalues\tmisfits\tmissing\t")
	for _, c := range p.Columns[:min(len(p.Columns), mostColumns)] {
		about := c.About
		if c.Misfit != "" {
			about = fmt.Sprintf("%s does not fit", shown(c.Misfit))
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", shown(c.Column), c.Sensor, c.Type, grouped(int64(c.Values)),
			grouped(int64(c.Misfits)), grouped(int64(c.Missing)), about)
	}
	_ = columns.Flush() // the terminal has gone
	if rest := len(p.Columns) - mostColumns; rest > 0 {
		fmt.Fprintf(w, "and %s more, which --json lists\n", grouped(int64(rest)))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(w, "note: %s\n", note)
	}
	for _, r := range p.Rows {
		values := []string{}
		for _, name := range slices.Sorted(maps.Keys(r.Values)) {
			value := fmt.Sprint(r.Values[name])
			if text, is := r.Values[name].(string); is {
				value = fmt.Sprintf("%q", shown(text))
			}
			values = append(values, name+"="+value)
		}
		fmt.Fprintf(w, "line %d: %s %s %s\n", r.Line, shown(r.Device), r.Time, tabular.Printable(strings.Join(values, " "),
			300))
	}
}
