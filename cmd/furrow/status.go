package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/tables"
	"furrow/worker"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "how the pipelines are doing: lag, runs, queues, devices that are held",
		Description: "Lag is how old the oldest reading may be that is not folded yet: the age of the last run that is done.\n" +
			"It takes a handful of requests for each pipeline, however many devices there are: the figures are those that\n" +
			"the jobs of the last runs have left behind, a few seconds ago.",
		Flags:  append(fleetFlags(), &cli.BoolFlag{Name: "json", Usage: "print it as JSON"}),
		Action: showStatus,
	}
}

// pipelineStatus is the status of a pipeline in JSON. Members may be added; none changes.
type pipelineStatus struct {
	Pipeline       tables.Pipeline `json:"pipeline"`
	CadenceSeconds float64         `json:"cadenceSeconds"`
	LagSeconds     *float64        `json:"lagSeconds"` // null where no run is done
	Devices        int64           `json:"devices"`
	Behind         int64           `json:"behind"`
	Held           int64           `json:"held"`
	Failing        int64           `json:"failing"`
	Rows           int64           `json:"rows"`
	Rejects        int64           `json:"rejects"`
	Late           int64           `json:"late"`
	Refolds        int64           `json:"refolds"`
	Queue          int             `json:"queue"`
	Catchup        int             `json:"catchup"`
	Poison         int             `json:"poison"`
	Runs           []runStatus     `json:"runs"`
}

type runStatus struct {
	Slot        time.Time        `json:"slot"`
	Skipped     string           `json:"skipped,omitempty"`
	Done        bool             `json:"done"`
	Seconds     float64          `json:"seconds"`
	Batches     int64            `json:"batches"`
	BatchesDone int64            `json:"batchesDone"`
	Devices     int64            `json:"devices"`
	Folded      int64            `json:"folded"`
	Rows        int64            `json:"rows"`
	Late        int64            `json:"late"`
	Failed      int64            `json:"failed"`
	Operations  map[string]int64 `json:"operations"`
}

func showStatus(c *cli.Context) error {
	f, _, err := openFleet(c)
	if err != nil {
		return err
	}
	all := []pipelineStatus{}
	for _, p := range f.Pipelines {
		s, err := f.Status(c.Context, p)
		if err != nil {
			return err
		}
		all = append(all, statusOf(s))
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, all)
	}
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		if err := s.text(c.App.Writer); err != nil {
			return err
		}
	}
	return nil
}

func statusOf(s roles.Status) pipelineStatus {
	fleet := s.Planned().Months
	out := pipelineStatus{
		Pipeline: s.Pipeline.Name, CadenceSeconds: s.Pipeline.Cadence.Seconds(), Devices: fleet.Devices, Behind: fleet.Behind, Held: fleet.Held,
		Failing: fleet.Failing, Rows: fleet.Rows, Rejects: fleet.Rejects, Late: fleet.Late, Refolds: fleet.Refolds,
		Queue: s.Queue, Catchup: s.Catchup, Poison: s.Poison, Runs: []runStatus{},
	}
	if lag, known := s.Lag(); known {
		seconds := lag.Seconds()
		out.LagSeconds = &seconds
	}
	for _, r := range s.Runs {
		out.Runs = append(out.Runs, runOf(r))
	}
	return out
}

func runOf(r worker.RunFigures) runStatus {
	w := r.Workers
	return runStatus{Slot: r.Run.Slot.Time(), Skipped: r.Run.Skipped, Done: r.Done(), Seconds: r.Took().Seconds(),
		Batches: r.Months.Batches + w.Again, BatchesDone: r.BatchesDone(), Devices: w.Devices, Folded: w.Folded,
		Rows: w.Rows, Late: w.Late, Failed: w.Failed, Operations: w.Operations}
}

// text is the status for people.
func (s pipelineStatus) text(w io.Writer) error {
	lag := "not known: no run of the last ones is done"
	if s.LagSeconds != nil {
		lag = time.Duration(*s.LagSeconds * float64(time.Second)).Round(time.Second).String()
	}
	text := fmt.Sprintf("%s, every %s\n", s.Pipeline, short(time.Duration(s.CadenceSeconds*float64(time.Second))))
	for _, line := range [][2]string{
		{"lag", lag},
		{"devices", fmt.Sprintf("%d; %d far behind, %d failing, %d held", s.Devices, s.Behind, s.Failing, s.Held)},
		{"rows", fmt.Sprintf("%d folded, %d of them found late; %d values or rows refused", s.Rows, s.Late, s.Rejects)},
		{"refolds", many(s.Refolds, "device") + " to be folded again"},
		{"queue", fmt.Sprintf("about %s; %d that catch up, %d given up", many(int64(s.Queue), "message"), s.Catchup, s.Poison)},
	} {
		text += fmt.Sprintf("  %-8s %s\n", line[0], line[1])
	}
	for _, r := range s.Runs {
		text += "  " + r.text() + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func (r runStatus) text() string {
	at := "run " + r.Slot.Format("15:04:05")
	switch {
	case r.Skipped != "":
		return at + "  skipped: " + r.Skipped
	case r.Operations == nil:
		return at + "  waits"
	}
	state := "under way"
	if r.Done {
		state = "done in " + short(time.Duration(r.Seconds*float64(time.Second)))
	}
	return fmt.Sprintf("%s  %s: %d of %d batches, %s, %s; %s", at, state, r.BatchesDone, r.Batches, many(r.Devices, "device"), many(r.Rows, "row"), operations(r.Operations))
}

// many is so many of something, such as "1 device" and "2 devices".
func many(n int64, one string) string {
	if n != 1 {
		one += "s"
	}
	return fmt.Sprintf("%d %s", n, one)
}

// operations are sums by service, as "tables 12, queues 3".
func operations(counts map[string]int64) string {
	sums := map[string]int64{}
	for name, n := range counts {
		service, _, _ := strings.Cut(name, " ")
		sums[service] += n
	}
	var parts []string
	for _, service := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, fmt.Sprintf("%s %d", service, sums[service]))
	}
	return "operations: " + strings.Join(parts, ", ")
}

// short is a duration without zeros at its end: 1m, not 1m0s.
func short(d time.Duration) string {
	text := d.Round(10 * time.Millisecond).String()
	if minutes, ok := strings.CutSuffix(text, "m0s"); ok {
		text = minutes + "m"
	}
	if hours, ok := strings.CutSuffix(text, "h0m"); ok {
		text = hours + "h"
	}
	return text
}
