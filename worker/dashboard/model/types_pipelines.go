package model

import (
	"time"

	"furrow/worker/budget"
	"furrow/worker/limits"
	"furrow/worker/query"
)

// PipelinesAnswer is the answer of /v1/pipelines.
type PipelinesAnswer struct {
	Pipelines []PipelineStatus `json:"pipelines"`
	Budget    *Budget          `json:"budget,omitempty"` // absent: the configuration has none
	// How often devices send that state nothing, as some of them tell by what has arrived while somebody looked.
	Proposals []query.Interval `json:"proposals,omitempty"`
	Limits    []StorageLimit   `json:"limits"`
	Counted
}

// A StorageLimit is one of an account, by the last runs.
type StorageLimit struct {
	// the storage account, as --storage names it; absent if the fleet is in one
	Storage string `json:"storage,omitempty"`
	limits.Limit
}

// A Budget is that of the configuration for the current month.
type Budget struct {
	budget.Budget
	Close bool `json:"close"` // whether share is at least 0.7
}

// A PipelineStatus is the state of a pipeline.
type PipelineStatus struct {
	Pipeline string `json:"pipeline"`
	// the storage account of the pipeline, as --storage names it; absent if the fleet is in one
	Storage        string  `json:"storage,omitempty"`
	CadenceSeconds float64 `json:"cadenceSeconds"`
	// largest possible age of a reading that is not folded yet; absent if no recent run is done
	LagSeconds *float64 `json:"lagSeconds,omitempty"`
	Backlog    int64    `json:"backlog"` // approximate number of messages of current runs
	// approximate number of messages of devices far behind, of audits and refolds
	Catchup        int64 `json:"catchup"`
	Poison         int64 `json:"poison"`
	Held           int   `json:"held"`
	Devices        int64 `json:"devices"`
	Behind         int64 `json:"behind"`         // devices that are far behind
	Claimed        int64 `json:"claimed"`        // devices with an open claim when the fleet was last planned
	Refolds        int64 `json:"refolds"`        // devices that are being refolded
	Rows           int64 `json:"rows"`           // rows folded in total
	Late           int64 `json:"late"`           // late rows that were found, in total
	Rejects        int64 `json:"rejects"`        // rows with a reject, in total
	RejectsDropped int64 `json:"rejectsDropped"` // rejects that are no longer kept
	// The disk of the embedded storage is full. Until there is room, what devices send is refused, and outputs may
	// wait.
	DiskFull bool `json:"diskFull"`
	// devices with a watermark in the future: a clock was ahead, and nothing new of theirs is folded
	Ahead int64 `json:"ahead"`
	// days of the archive, or of reports, that are to be made
	Waiting int64 `json:"waiting"`
	// how long the first of these has waited
	WaitingSeconds float64 `json:"waitingSeconds"`
	// how far the clock of this program is ahead of storage's, or behind where it is negative; 0: by less than a
	// minute
	ClockAheadSeconds float64 `json:"clockAheadSeconds"`
	// enrollments for which audits of the last day have found rows that no token admitted
	Unheard      []query.Unheard `json:"unheard,omitempty"`
	Workers      []Worker        `json:"workers"`
	Runs         []Run           `json:"runs"` // the newest first
	CostPerMonth *Cost           `json:"costPerMonth,omitempty"`

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
	Slot     time.Time `json:"slot"`
	Seconds  float64   `json:"seconds"`
	Devices  int64     `json:"devices"`
	Readings int64     `json:"readings"`
	// time from the slot to the end of the run; absent while it is not done
	LagSeconds *float64         `json:"lagSeconds,omitempty"`
	Jobs       map[string]int64 `json:"jobs,omitempty"`       // by kind and outcome, such as "device done"
	Operations map[string]int64 `json:"operations,omitempty"` // by service and kind, such as "tables query"
	Skipped    string           `json:"skipped,omitempty"`    // why the run was skipped
	Done       bool             `json:"done"`                 // as far as its figures tell
}

// A Cost is in US dollars a month.
type Cost struct {
	Total  float64            `json:"total"`
	ByKind map[string]float64 `json:"byKind,omitempty"`
	Source string             `json:"source,omitempty"` // source of the prices
}

// A Cause is a reason why devices are held or messages are poison, and how often it occurs.
type Cause struct {
	What   string `json:"what" enum:"held poison"` // held or poison
	Reason string `json:"reason"`
	N      int    `json:"n"`
}

// TenantsAnswer is the answer of /v1/tenants.
type TenantsAnswer struct {
	Tenants []Tenant `json:"tenants"`
	Next    string   `json:"next,omitempty"` // after of the next page
	Total   int      `json:"total"`
	Counted
}

// A Tenant owns devices.
type Tenant struct {
	Tenant        string `json:"tenant"`
	Devices       int    `json:"devices"`
	ReadingsToday int64  `json:"readingsToday"`       // folded readings of numbers since midnight UTC
	Estimated     bool   `json:"estimated,omitempty"` // ReadingsToday is extrapolated from some devices
	New           int    `json:"new"`                 // devices that have not sent their first reading
	Silent        int    `json:"silent"`
	Held          int    `json:"held"`
}
