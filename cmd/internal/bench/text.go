package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"
)

// WriteText writes the report for people: a line per workload, the targets side
// by side, and how many times the others' operations per second the first one does.
func (r *Report) WriteText(w io.Writer) error {
	lines := [][]string{r.targetLine(), r.columnLine()}
	for i := range r.Rows {
		if first(r.Rows, i) {
			lines = append(lines, r.line(r.Rows[i]))
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d clients, ", r.Clients)
	if r.Size > 0 {
		fmt.Fprintf(&text, "%d bytes, ", r.Size)
	}
	fmt.Fprintf(&text, "%g s a row, %s, %s\n\n", r.Seconds, english.Plural(r.Rounds, "round", ""), english.Plural(r.CPUs, "CPU", ""))
	align(&text, worth(lines, 2))
	r.footnotes(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

func (r *Report) targetLine() []string {
	line := []string{""}
	for i, t := range r.Targets {
		line = append(line, t.Name, "", "", "", "")
		if i > 0 {
			line = append(line, r.Targets[0].Name)
		}
	}
	return line
}

func (r *Report) columnLine() []string {
	line := []string{""}
	for i, t := range r.Targets {
		line = append(line, "ops/s", "rows/s", "p50", "p99", "errors")
		if i > 0 {
			line = append(line, "/ "+t.Name)
		}
	}
	return line
}

func (r *Report) line(like Row) []string {
	line := []string{title(like.Name, like.TableRows)}
	for i, t := range r.Targets {
		x, ok := r.find(like.Name, like.TableRows, t.Name)
		if !ok {
			line = append(line, "", "", "", "", "")
		} else {
			line = append(line, thousands(x.OpsPerSecond), thousands(x.RowsPerSecond), latency(x.P50), latency(x.P99), mistakes(x))
		}
		if i > 0 {
			line = append(line, r.times(like, t.Name))
		}
	}
	return line
}

func (r *Report) find(name string, tableRows int, target string) (Row, bool) {
	for _, x := range r.Rows {
		if x.Name == name && x.TableRows == tableRows && x.Target == target {
			return x, true
		}
	}
	return Row{}, false
}

// times is the ratio of the first target to another, for one line; for a part,
// which has no rate, that of the other's median latency to the first's.
func (r *Report) times(like Row, other string) string {
	for _, x := range r.Ratios {
		if x.Name != like.Name || x.Of.TableRows != like.TableRows || x.To.TableRows != like.TableRows || x.To.Target != other {
			continue
		}
		if x.OpsPerSecond > 0 {
			return factor(x.OpsPerSecond)
		}
		return factor(1 / x.P50)
	}
	return ""
}

func (r *Report) footnotes(w io.Writer) {
	for _, x := range r.Ratios {
		if x.Of.Target == x.To.Target {
			fmt.Fprintf(w, "\n%s on %s, %s rows against %s: p50 %s, ops/s %s", x.Name, x.Of.Target,
				thousands(float64(x.Of.TableRows)), thousands(float64(x.To.TableRows)), factor(x.P50), factor(x.OpsPerSecond))
		}
	}
	for _, t := range r.Targets {
		if t.PeakMemory > 0 {
			fmt.Fprintf(w, "\n%s: peak memory %s MB", t.Name, thousands(float64(t.PeakMemory)/1e6))
		}
	}
	for _, x := range r.Rows {
		if x.FirstError != "" {
			fmt.Fprintf(w, "\n%s, %s: first error: %s", x.Target, title(x.Name, x.TableRows), x.FirstError)
		}
	}
	if r.Warning != "" {
		fmt.Fprintf(w, "\nwarning: %s", r.Warning)
	}
	fmt.Fprintln(w)
}

// title is a row's name, indented when it is a part's.
func title(name string, tableRows int) string {
	if _, part, ok := strings.Cut(name, "/"); ok {
		return "  " + part
	}
	if tableRows > 0 {
		name += ", " + thousands(float64(tableRows)) + " rows"
	}
	return name
}

// worth leaves out the columns that have nothing below their heads, which are so
// many lines, nor a name above them.
func worth(lines [][]string, heads int) [][]string {
	var empty []int
	for i := range lines[0] {
		if i > 0 && lines[0][i] == "" && !slices.ContainsFunc(lines[heads:], func(line []string) bool { return line[i] != "" }) {
			empty = append(empty, i)
		}
	}
	for _, i := range slices.Backward(empty) {
		for n := range lines {
			lines[n] = slices.Delete(lines[n], i, i+1)
		}
	}
	return lines
}

// align writes the first column to the left, the others to the right.
func align(w *strings.Builder, lines [][]string) {
	var widths []int
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				text.WriteString(cell + gap)
			} else {
				text.WriteString("  " + gap + cell)
			}
		}
		w.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

// thousands rounds to whole numbers, or to one digit below ten, and separates
// groups of three; zero is left out.
func thousands(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
	}
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// latency has three digits, and a unit that fits.
func latency(ms float64) string {
	switch {
	case ms == 0:
		return ""
	case ms < 1:
		return fmt.Sprintf("%.0fµs", ms*1000)
	case ms < 10:
		return fmt.Sprintf("%.2fms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1fms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0fms", ms)
	}
	return fmt.Sprintf("%.2fs", ms/1000)
}

func mistakes(x Row) string {
	if x.OpsPerSecond == 0 && x.Errors == 0 {
		return ""
	}
	return strconv.FormatInt(x.Errors, 10)
}

func factor(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.1fx", x)
	}
	return fmt.Sprintf("%.2fx", x)
}
