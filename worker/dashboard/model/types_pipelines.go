package model

import (
	"time"

	"furrow/worker/budget"
)

// PipelinesAnswer is the answer of /v1/pipelines.
type PipelinesAnswer struct {
	Pipelines  []PipelineStatus `json:"pipelines"`
	Budget     *Budget          `json:"budget,omitempty"` // absent: the configuration has none
	Operations int              `json:"operations"`
}

// A Budget is that of the configuration for the current month.
type Budget struct {
	budget.Budget
	Close bool `json:"close"` // the month will cost at least 70 % of it
}

// A PipelineStatus is the state of a pipeline.
type PipelineStatus struct {
	Pipeline       string   `json:"pipeline"`
	Storage        string   `json:"storage,omitempty"` // of a fleet in several accounts: the account
	CadenceSeconds float64  `json:"cadenceSeconds"`
	LagSeconds     *float64 `json:"lagSeconds,omitempty"` // nil: nothing was ever folded
	Backlog        int64    `json:"backlog"`              // messages of current runs
	Catchup        int64    `json:"catchup"`              // messages of devices far behind, of audits and refolds
	Poison         int64    `json:"poison"`
	Held           int      `json:"held"`
	Devices        int64    `json:"devices"`
	Behind         int64    `json:"behind"`         // devices far behind
	Claimed        int64    `json:"claimed"`        // devices with an open claim when the fleet was planned
	Refolds        int64    `json:"refolds"`        // devices that are being refolded
	Rows           int64    `json:"rows"`           // folded in total
	Late           int64    `json:"late"`           // found by audits, in total
	Rejects        int64    `json:"rejects"`        // rows with a reject, in total
	RejectsDropped int64    `json:"rejectsDropped"` // rejects that are no longer kept
	DiskFull       bool     `json:"diskFull"`       // its storage takes nothing new
	// Ahead are devices with a watermark in the future: a clock was ahead, and nothing new of theirs is folded.
	Ahead int64 `json:"ahead"`
	// Waiting are days of the archive, or of reports, that are to be made.
	Waiting int64 `json:"waiting"`
	// WaitingSeconds is how long the first of these has waited.
	WaitingSeconds float64 `json:"waitingSeconds"`
	// ClockAheadSeconds is how far this program's clock is ahead of storage's; 0: by less than a minute.
	ClockAheadSeconds float64  `json:"clockAheadSeconds"`
	Workers           []Worker `json:"workers"`
	Runs              []Run    `json:"runs"` // the newest first
	CostPerMonth      *Cost    `json:"costPerMonth,omitempty"`

	// Causes are the known reasons of held devices and poison messages.
	Causes []Cause `json:"causes,omitempty"`
}

// A Worker has done work lately.
type Worker struct {
	Name string    `json:"name"`
	Seen time.Time `json:"seen"`
}

// A Run is the work for one slot.
type Run struct {
	Slot       time.Time        `json:"slot"`
	Seconds    float64          `json:"seconds"`
	Devices    int64            `json:"devices"`
	Readings   int64            `json:"readings"`
	LagSeconds *float64         `json:"lagSeconds,omitempty"`
	Jobs       map[string]int64 `json:"jobs,omitempty"`       // by kind and outcome, such as "device done"
	Operations map[string]int64 `json:"operations,omitempty"` // by service and kind, such as "tables query"
	Skipped    string           `json:"skipped,omitempty"`    // why
	Done       bool             `json:"done"`                 // as far as its figures tell
}

// A Cost is in US dollars a month.
type Cost struct {
	Total  float64            `json:"total"`
	ByKind map[string]float64 `json:"byKind,omitempty"`
	Source string             `json:"source,omitempty"` // of the prices
}

// A Cause is a reason why devices are held or messages are poison, and how often it occurs.
type Cause struct {
	What   string `json:"what"` // held or poison
	Reason string `json:"reason"`
	N      int    `json:"n"`
}

// TenantsAnswer is the answer of /v1/tenants.
type TenantsAnswer struct {
	Tenants    []Tenant `json:"tenants"`
	Next       string   `json:"next,omitempty"` // after of the next page
	Total      int      `json:"total"`
	Operations int      `json:"operations"`
}

// A Tenant owns devices.
type Tenant struct {
	Tenant        string `json:"tenant"`
	Devices       int    `json:"devices"`
	ReadingsToday int64  `json:"readingsToday"`
	Estimated     bool   `json:"estimated,omitempty"` // ReadingsToday is extrapolated from some devices
	Silent        int    `json:"silent"`
	Held          int    `json:"held"`
}
