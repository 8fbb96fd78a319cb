package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize/english"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var text strings.Builder
	if len(r.Rows) > 0 {
		fmt.Fprintf(&text, "%s, %g s per row, %s, %s\n\n", english.Plural(r.Clients, "client", ""), r.Seconds,
			english.Plural(r.Rounds, "round", ""), english.Plural(r.CPUs, "CPU", ""))
		r.table(&text)
	}
	for _, t := range r.Targets {
		if t.PeakMemory > 0 {
			fmt.Fprintf(&text, "\n%s: peak memory %d MB", t.Name, t.PeakMemory/1e6)
		}
	}
	for _, x := range r.Rows {
		if x.FirstError != "" {
			fmt.Fprintf(&text, "\n%s, %s: first error: %s", x.Target, title(x.Name, x.TableRows), x.FirstError)
		}
	}
	if r.Warning != "" {
		fmt.Fprintf(&text, "\nwarning: %s", r.Warning)
	}
	fmt.Fprintln(&text)
	for _, s := range r.Storms {
		s.write(&text)
	}
	_, err := io.WriteString(w, strings.TrimLeft(text.String(), "\n"))
	return err
}

// table writes a line for each row. The last column compares the operations per second, or of a
// part the median latency, with those of the first target.
func (r *Report) table(w io.Writer) {
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(lines, "ops/s\trows/s\tp50\tp99\terrors\trelative\t  workload")
	for _, x := range r.Rows {
		first := x
		for _, y := range r.Rows {
			if y.Name == x.Name && y.TableRows == x.TableRows {
				first = y
				break
			}
		}
		ops, rows, relative := "", "", x.P50/max(first.P50, 0.001)
		if x.OpsPerSecond > 0 {
			ops, relative = fmt.Sprintf("%.0f", x.OpsPerSecond), x.OpsPerSecond/max(first.OpsPerSecond, 0.001)
		}
		if x.RowsPerSecond > 0 {
			rows = fmt.Sprintf("%.0f", x.RowsPerSecond)
		}
		fmt.Fprintf(lines, "%s\t%s\t%v\t%v\t%d\t%.2g\t  %s: %s\n", ops, rows, latency(x.P50), latency(x.P99), x.Errors,
			relative, x.Target, title(x.Name, x.TableRows))
	}
	_ = lines.Flush() // writes to memory
}

func (s Storm) write(w io.Writer) {
	fmt.Fprintf(w, "\nstorm on %s: %d of %d devices got a token within %.1fs, half of them within %v, 99%% within %v\n",
		s.Target, s.Tokens, s.Devices, s.Seconds, latency(s.P50), latency(s.P99))
	fmt.Fprintf(w, "  requests: %d, connections: %d, answers 429: %d, answers 503: %d, other errors: %d, broken: %d, "+
		"peak memory: %d MB\n",
		s.Requests, s.Connections, s.TooMany, s.Unavailable, s.Errors, s.Broken, s.PeakMemory/1e6)
	if s.FirstError != "" {
		fmt.Fprintf(w, "  first error: %s\n", s.FirstError)
	}
}

func title(name string, tableRows int) string {
	if tableRows > 0 {
		return fmt.Sprintf("%s, %d rows", name, tableRows)
	}
	return name
}

// latency has three significant digits at most.
func latency(ms float64) time.Duration {
	d := time.Duration(ms * float64(time.Millisecond))
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}
