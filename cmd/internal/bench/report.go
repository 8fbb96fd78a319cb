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
	Seconds float64        `json:"seconds"`           // that each row was measured for, on each target, in each round
	Rounds  int            `json:"rounds"`            // figures are medians over them
	Clients int            `json:"clients"`           // that worked at the same time
	Size    int            `json:"size,omitempty"`    // bytes of an entity's JSON, and of a message
	CPUs    int            `json:"cpus"`              // of this machine, which clients and started servers share
	Targets []TargetReport `json:"targets"`           //
	Rows    []Row          `json:"rows"`              // by workload, then target
	Ratios  []Ratio        `json:"ratios,omitempty"`  // of the first target to the others, and of larger tables to the smallest
	Warning string         `json:"warning,omitempty"` // why the figures may mislead
}

// A TargetReport is an endpoint that was measured.
type TargetReport struct {
	Name       string `json:"name"`
	URL        string `json:"url"`                  // of its table service
	PeakMemory int64  `json:"peakMemory,omitempty"` // bytes that its process held at most; only of a server that the bench started, on Linux
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
	Errors        int64   `json:"errors"`                  // in all rounds; none is counted as an operation
	FirstError    string  `json:"firstError,omitempty"`    //
	EachRound     []Round `json:"eachRound,omitempty"`     // when there are several
}

// A Round is what one round found for a row.
type Round struct {
	OpsPerSecond float64 `json:"opsPerSecond"`
	P50          float64 `json:"p50Ms"`
	P99          float64 `json:"p99Ms"`
}

// A Ratio sets two rows of one name against each other.
type Ratio struct {
	Name         string  `json:"name"`
	Of           Side    `json:"of"`
	To           Side    `json:"to"`
	OpsPerSecond float64 `json:"opsPerSecond,omitempty"` // of's divided by to's: above 1, "of" does more
	P50          float64 `json:"p50"`                    // of's divided by to's: above 1, "of" takes longer
}

// A Side is a row of a ratio.
type Side struct {
	Target    string `json:"target"`
	TableRows int    `json:"tableRows,omitempty"`
}

func newReport(cfg Config, ends []*endpoint) *Report {
	r := &Report{
		Version: 1, Started: time.Now().UTC().Truncate(time.Second),
		Seconds: cfg.For.Seconds(), Rounds: cfg.Rounds, Clients: cfg.Clients, Size: cfg.Size,
		CPUs: runtime.NumCPU(), Targets: []TargetReport{}, Rows: []Row{},
	}
	for _, e := range ends {
		r.Targets = append(r.Targets, TargetReport{Name: e.name, URL: e.account.Table})
	}
	return r
}

// add enters a measurement: its row, and one for each part of the workload.
func (r *Report) add(s step, target string, found sample) {
	seconds := found.elapsed.Seconds()
	for i, latencies := range found.latencies {
		name := s.name
		if i > 0 {
			name += "/" + s.parts[i-1]
		}
		row := r.row(name, s.tableRows, target)
		row.Operations += latencies.TotalCount()
		row.EachRound = append(row.EachRound, Round{
			OpsPerSecond: float64(latencies.TotalCount()) / seconds,
			P50:          float64(latencies.ValueAtQuantile(50)) / 1000,
			P99:          float64(latencies.ValueAtQuantile(99)) / 1000,
		})
		row.P50 = median(row.EachRound, func(x Round) float64 { return x.P50 })
		row.P99 = median(row.EachRound, func(x Round) float64 { return x.P99 })
		if i > 0 {
			continue
		}
		row.OpsPerSecond = median(row.EachRound, func(x Round) float64 { return x.OpsPerSecond })
		if s.rows > 1 {
			row.RowsPerSecond = row.OpsPerSecond * float64(s.rows)
		}
		row.Errors += found.errors
		if row.FirstError == "" && found.firstError != nil {
			row.FirstError = brief(found.firstError).Error()
		}
	}
}

// row finds a row, or makes it behind those of its name.
func (r *Report) row(name string, tableRows int, target string) *Row {
	for i := range r.Rows {
		if x := &r.Rows[i]; x.Name == name && x.TableRows == tableRows && x.Target == target {
			return x
		}
	}
	at := len(r.Rows)
	for i, x := range r.Rows {
		if x.Name == name && x.TableRows == tableRows {
			at = i + 1
		}
	}
	r.Rows = slices.Insert(r.Rows, at, Row{Name: name, TableRows: tableRows, Target: target})
	return &r.Rows[at]
}

func median(rounds []Round, of func(Round) float64) float64 {
	values := make([]float64, len(rounds))
	for i, x := range rounds {
		values[i] = of(x)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// note enters what is known only when all is measured and the servers have ended.
func (r *Report) note(ends []*endpoint) {
	for i, e := range ends {
		if e.server != nil {
			r.Targets[i].PeakMemory = e.server.peakMemory
		}
	}
	for i := range r.Rows {
		if len(r.Rows[i].EachRound) == 1 {
			r.Rows[i].EachRound = nil
		}
		if r.Rows[i].Operations == 0 && r.Rows[i].Errors > 0 {
			r.Warning = "a row has only errors: it says nothing about speed"
		}
	}
	r.Ratios = ratios(r.Rows)
}

// ratios compare, for every row, the first target with each of the others, and
// on one target the smallest table with each larger one.
func ratios(rows []Row) []Ratio {
	var all []Ratio
	for i, of := range rows {
		for j, to := range rows {
			if of.Name != to.Name || of.P50 == 0 || to.P50 == 0 {
				continue
			}
			targets := of.TableRows == to.TableRows && i < j && first(rows, i)
			sizes := of.Target == to.Target && of.TableRows > to.TableRows && smallest(rows, j)
			if !targets && !sizes {
				continue
			}
			x := Ratio{Name: of.Name, Of: Side{of.Target, of.TableRows}, To: Side{to.Target, to.TableRows}, P50: of.P50 / to.P50}
			if to.OpsPerSecond > 0 {
				x.OpsPerSecond = of.OpsPerSecond / to.OpsPerSecond
			}
			all = append(all, x)
		}
	}
	return all
}

// first tells whether no row of the same name and size stands before row i.
func first(rows []Row, i int) bool {
	return !slices.ContainsFunc(rows[:i], func(x Row) bool {
		return x.Name == rows[i].Name && x.TableRows == rows[i].TableRows
	})
}

// smallest tells whether row i is that of its target's smallest table.
func smallest(rows []Row, i int) bool {
	return !slices.ContainsFunc(rows, func(x Row) bool {
		return x.Name == rows[i].Name && x.Target == rows[i].Target && x.TableRows < rows[i].TableRows
	})
}
