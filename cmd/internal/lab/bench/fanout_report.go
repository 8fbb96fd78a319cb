package bench

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize/english"

	"furrow/worker/price"
)

// A FanoutReport is what was measured of runs. Its JSON is stable: a field may be added, but none changes its name or
// meaning while Version stays.
type FanoutReport struct {
	Version       int         `json:"version"`                 // 1
	Started       time.Time   `json:"started"`                 // when measuring began
	Devices       int         `json:"devices"`                 // of the fleet
	Batch         int         `json:"batch"`                   // devices of a message
	Tenants       int         `json:"tenants"`                 // that the devices belong to
	Months        int         `json:"months"`                  // of deployment, in which they are
	History       int         `json:"historyDays,omitempty"`   // of hourly rows that each device had before
	Jobs          int         `json:"jobs"`                    // at a time
	CPUs          int         `json:"cpus"`                    // of this machine, which worker and storage share
	StorageMemory int64       `json:"storageMemory,omitempty"` // peak resident bytes of the storage, on Linux
	WorkerMemory  int64       `json:"workerMemory,omitempty"`  // the same of the worker, which also sends the rows
	Rows          []FanoutRow `json:"rows"`                    // one for each workload
}

// A FanoutRow is one workload. Its figures are medians of rounds, each a run.
type FanoutRow struct {
	Name             string        `json:"name"`
	DevicesPerSecond float64       `json:"devicesPerSecond"`           //
	RowsPerSecond    float64       `json:"rowsPerSecond,omitempty"`    //
	WorkerCPU        float64       `json:"workerCPUMicros,omitempty"`  // microseconds of CPU for each device, on Linux
	StorageCPU       float64       `json:"storageCPUMicros,omitempty"` // the same of storage that the benchmark started
	WireCPU          float64       `json:"wireCPUMicros,omitempty"`    // of both, if storage did nothing but HTTP
	Tables           float64       `json:"tableOperations"`            // for each device
	Queues           float64       `json:"queueOperations"`            // for each device
	Dollars          float64       `json:"dollarsPerDeviceMonth"`      // of these operations on Azure, with a run a minute, or a file a day
	EachRound        []FanoutRound `json:"eachRound"`                  //
}

// A FanoutRound is one run of the whole fleet.
type FanoutRound struct {
	Seconds     float64          `json:"seconds"`                     // from the master job to the last commit
	SeenSeconds float64          `json:"seenSeconds"`                 // until no device waited for a first look
	Rows        int              `json:"rows"`                        // new ones of all devices
	WorkerCPU   float64          `json:"workerCPUSeconds,omitempty"`  //
	StorageCPU  float64          `json:"storageCPUSeconds,omitempty"` //
	WireCPU     float64          `json:"wireCPUSeconds,omitempty"`    // of the same requests to a service that does nothing
	Operations  map[string]int64 `json:"operations"`                  // by service and kind
}

func newFanoutReport(cfg FanoutConfig) *FanoutReport {
	return &FanoutReport{Version: 1, Started: time.Now().UTC().Truncate(time.Second), Devices: cfg.Devices,
		Batch: cfg.Batch, Tenants: cfg.Tenants, Months: cfg.Months, History: cfg.History,
		Jobs: cfg.Clients, CPUs: runtime.NumCPU(),
		Rows: []FanoutRow{}}
}

// operationsOn counts the operations on a service.
func (r FanoutRound) operationsOn(service string) (n int64) {
	for name, count := range r.Operations {
		if strings.HasPrefix(name, service) {
			n += count
		}
	}
	return n
}

// add enters the rounds of a workload that happens so often.
func (r *FanoutReport) add(name string, every time.Duration, rounds []FanoutRound) {
	devices := float64(r.Devices)
	mid := func(of func(FanoutRound) float64) float64 { return medianOf(rounds, of) }
	r.Rows = append(r.Rows, FanoutRow{Name: name,
		DevicesPerSecond: devices / mid(func(x FanoutRound) float64 { return x.SeenSeconds }),
		RowsPerSecond:    mid(func(x FanoutRound) float64 { return float64(x.Rows) / x.Seconds }),
		WorkerCPU:        mid(func(x FanoutRound) float64 { return x.WorkerCPU * 1e6 / devices }),
		StorageCPU:       mid(func(x FanoutRound) float64 { return x.StorageCPU * 1e6 / devices }),
		WireCPU:          mid(func(x FanoutRound) float64 { return x.WireCPU * 1e6 / devices }),
		Tables:           mid(func(x FanoutRound) float64 { return float64(x.operationsOn("tables ")) / devices }),
		Queues:           mid(func(x FanoutRound) float64 { return float64(x.operationsOn("queues ")) / devices }),
		Dollars: mid(func(x FanoutRound) float64 {
			_, total := price.Azure().Monthly(x.Operations, every)
			return total / devices
		}),
		EachRound: rounds,
	})
}

func medianOf[T any](all []T, of func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, x := range all {
		values[i] = of(x)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// WriteText writes the report for people.
func (r *FanoutReport) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s of %s in %s, %d to a message, %s at a time, %s\n\n", english.Plural(r.Devices, "device", ""),
		english.Plural(r.Tenants, "tenant", ""), english.Plural(r.Months, "month", ""), r.Batch,
		english.Plural(r.Jobs, "job", ""), english.Plural(r.CPUs, "CPU", ""))
	lines := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(lines, "\t\tCPU µs a device\t\t\toperations a device\t\t\t")
	fmt.Fprintln(lines, "devices/s\trows/s\tworker\tstorage\twire\ttables\tqueues\t$ a month\t  workload")
	for _, x := range r.Rows {
		rows := ""
		if x.RowsPerSecond > 0 {
			rows = fmt.Sprintf("%.0f", x.RowsPerSecond)
		}
		fmt.Fprintf(lines, "%.0f\t%s\t%.0f\t%.0f\t%.0f\t%.3f\t%.3f\t%.4f\t  %s\n", x.DevicesPerSecond, rows, x.WorkerCPU,
			x.StorageCPU, x.WireCPU, x.Tables, x.Queues, x.Dollars, x.Name)
	}
	_ = lines.Flush() // writes to memory
	switch {
	case r.StorageMemory > 0:
		fmt.Fprintf(&text, "\npeak memory: storage %d MB, worker %d MB\n", r.StorageMemory/1e6, r.WorkerMemory/1e6)
	case r.WorkerMemory > 0:
		fmt.Fprintf(&text, "\npeak memory: %d MB\n", r.WorkerMemory/1e6)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// WriteGo writes a line for each round, as go test -bench does, for benchstat.
func (r *FanoutReport) WriteGo(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "goos: %s\ngoarch: %s\npkg: furrow/bench/fanout\n", runtime.GOOS, runtime.GOARCH)
	for _, x := range r.Rows {
		for _, round := range x.EachRound {
			n := float64(r.Devices)
			fmt.Fprintf(&text, "BenchmarkFanout/%s/devices=%d/batch=%d/tenants=%d/months=%d/history=%d-%d\t%d\t%.1f ns/op",
				x.Name, r.Devices, r.Batch, r.Tenants, r.Months, r.History, r.CPUs, r.Devices, round.Seconds*1e9/n)
			fmt.Fprintf(&text, "\t%.1f worker-cpu-ns/op\t%.1f storage-cpu-ns/op\t%.1f wire-cpu-ns/op",
				round.WorkerCPU*1e9/n, round.StorageCPU*1e9/n, round.WireCPU*1e9/n)
			for _, name := range slices.Sorted(maps.Keys(round.Operations)) {
				fmt.Fprintf(&text, "\t%.4f %s/op", float64(round.Operations[name])/n, strings.ReplaceAll(name, " ", "-"))
			}
			text.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
