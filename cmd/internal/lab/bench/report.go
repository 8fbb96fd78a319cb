package bench

import (
	"runtime"
	"slices"
	"time"
)

// A Report is what was measured. Its JSON is stable: a field may be added, but
// none changes its name or meaning while Version stays.
type Report struct {
	Version int            `json:"version"`           // 1
	Started time.Time      `json:"started"`           // when measuring began
	Seconds float64        `json:"seconds"`           // measured for each row, on each target, in each round
	Rounds  int            `json:"rounds"`            // figures are medians over them
	Clients int            `json:"clients"`           // that worked at the same time
	Size    int            `json:"size,omitempty"`    // bytes of an entity's JSON, and of a message
	CPUs    int            `json:"cpus"`              // of this machine, which clients and started servers share
	Targets []TargetReport `json:"targets"`           //
	Rows    []Row          `json:"rows"`              // by workload, then target
	Warning string         `json:"warning,omitempty"` // why the figures may mislead
	Devices int            `json:"devices,omitempty"` // known devices that renewed their tokens, on each target
	Storms  []Storm        `json:"storms,omitempty"`  // one for each target
}

// A TargetReport is an endpoint that was measured.
type TargetReport struct {
	Name       string `json:"name"`
	URL        string `json:"url"`                  // of the Table service, or of the token endpoint
	PeakMemory int64  `json:"peakMemory,omitempty"` // peak resident bytes of a server that the benchmark started, on Linux
}

// A Row is one workload on one target, or a part of one.
type Row struct {
	Name          string  `json:"name"`                    // the workload's; a part's is workload/part
	TableRows     int     `json:"tableRows,omitempty"`     // of the table that was read
	Target        string  `json:"target"`                  //
	Operations    int64   `json:"operations"`              // that succeeded, in all rounds
	OpsPerSecond  float64 `json:"opsPerSecond,omitempty"`  // absent for parts: it is the workload's
	RowsPerSecond float64 `json:"rowsPerSecond,omitempty"` // rows, or blocks; absent where an operation moves one
	P50           float64 `json:"p50Ms"`                   // latency in milliseconds: half took no longer
	P99           float64 `json:"p99Ms"`                   // 99 of 100 took no longer
	Errors        int64   `json:"errors"`                  // in all rounds; not counted as operations
	FirstError    string  `json:"firstError,omitempty"`    //
	EachRound     []Round `json:"eachRound,omitempty"`     //
}

// A Round is what one round found for a row.
type Round struct {
	OpsPerSecond float64 `json:"opsPerSecond"`
	P50          float64 `json:"p50Ms"`
	P99          float64 `json:"p99Ms"`
}

// A Storm is many new devices that boot at once. As package device does, each obeys Retry-After and
// waits for a random time besides; each request uses a new connection.
type Storm struct {
	Target      string  `json:"target"`               //
	Devices     int     `json:"devices"`              // that booted
	Tokens      int     `json:"tokens"`               // devices that got one
	Seconds     float64 `json:"seconds"`              // until the last of them got it
	P50         float64 `json:"p50Ms"`                // until a device got its token, including the wait for a connection
	P99         float64 `json:"p99Ms"`                //
	Requests    int     `json:"requests"`             // all of them
	TooMany     int     `json:"tooManyRequests"`      // answers with 429
	Unavailable int     `json:"serviceUnavailable"`   // answers with 503
	Broken      int     `json:"broken"`               // requests without an answer
	Errors      int     `json:"errors"`               // other answers
	FirstError  string  `json:"firstError,omitempty"` // or why the first request had no answer
	Connections int     `json:"connections"`          // most that were open at a time
	PeakMemory  int64   `json:"peakMemory,omitempty"` // peak resident bytes of the endpoint's process, on Linux
}

func newReport(s Settings) *Report {
	return &Report{
		Version: 1, Started: time.Now().UTC().Truncate(time.Second),
		Seconds: s.For.Seconds(), Rounds: s.Rounds, Clients: s.Clients,
		CPUs: runtime.NumCPU(), Targets: []TargetReport{}, Rows: []Row{},
	}
}

// add enters a measurement: its row, and one for each part of the workload.
func (r *Report) add(t task, found sample) {
	seconds := found.elapsed.Seconds()
	for i, latencies := range found.latencies {
		name := t.name
		if i > 0 {
			name += "/" + t.parts[i-1]
		}
		row := r.row(name, t)
		row.Operations += latencies.TotalCount()
		row.EachRound = append(row.EachRound, Round{
			OpsPerSecond: float64(latencies.TotalCount()) / seconds,
			P50:          float64(latencies.ValueAtQuantile(50)) / 1000,
			P99:          float64(latencies.ValueAtQuantile(99)) / 1000,
		})
		row.P50 = medianOf(row.EachRound, func(x Round) float64 { return x.P50 })
		row.P99 = medianOf(row.EachRound, func(x Round) float64 { return x.P99 })
		if i > 0 {
			continue
		}
		row.OpsPerSecond = medianOf(row.EachRound, func(x Round) float64 { return x.OpsPerSecond })
		if t.rows > 1 {
			row.RowsPerSecond = row.OpsPerSecond * float64(t.rows)
		}
		row.Errors += found.errors
		if row.FirstError == "" && found.firstError != nil {
			row.FirstError = brief(found.firstError).Error()
		}
	}
}

// row finds a task's row, or appends it, together with those of its parts.
func (r *Report) row(name string, t task) *Row {
	is := func(x Row) bool { return x.Name == name && x.TableRows == t.tableRows && x.Target == t.target }
	if i := slices.IndexFunc(r.Rows, is); i >= 0 {
		return &r.Rows[i]
	}
	r.Rows = append(r.Rows, Row{Name: t.name, TableRows: t.tableRows, Target: t.target})
	for _, part := range t.parts {
		r.Rows = append(r.Rows, Row{Name: t.name + "/" + part, TableRows: t.tableRows, Target: t.target})
	}
	return &r.Rows[slices.IndexFunc(r.Rows, is)]
}

// warn warns of figures that may mislead, and drops rows that were not measured.
func (r *Report) warn() {
	r.Rows = slices.DeleteFunc(r.Rows, func(x Row) bool { return len(x.EachRound) == 0 })
	for _, x := range r.Rows {
		if x.Operations == 0 && x.Errors > 0 {
			r.Warning = "a row has only errors, so its figures mean nothing"
		}
	}
}
