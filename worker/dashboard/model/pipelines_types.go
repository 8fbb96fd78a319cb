package model

import "time"

// The answers of the API about pipelines and tenants.

// PipelinesAnswer is the answer of /v1/pipelines.
type PipelinesAnswer struct {
	Pipelines  []PipelineStatus `json:"pipelines"`
	Operations int              `json:"operations"`
}

// A PipelineStatus is how a pipeline does.
type PipelineStatus struct {
	Pipeline       string   `json:"pipeline"`
	CadenceSeconds float64  `json:"cadenceSeconds"`
	LagSeconds     *float64 `json:"lagSeconds,omitempty"` // nil where nothing was ever folded
	Backlog        int64    `json:"backlog"`              // live messages
	Catchup        int64    `json:"catchup"`              // messages of devices far behind, audits and refolds
	Poison         int64    `json:"poison"`
	Held           int      `json:"held"`
	Devices        int64    `json:"devices"`
	Behind         int64    `json:"behind"`         // devices far behind
	Claimed        int64    `json:"claimed"`        // devices that a job had claimed, and not committed, when the fleet was planned
	Refolds        int64    `json:"refolds"`        // devices to be folded again
	Rows           int64    `json:"rows"`           // folded since the beginning
	Late           int64    `json:"late"`           // of them, those that audits have found
	Rejects        int64    `json:"rejects"`        // rows of which something was rejected
	RejectsDropped int64    `json:"rejectsDropped"` // of them, those that are no longer kept
	Workers        []Worker `json:"workers"`
	Runs           []Run    `json:"runs"` // the newest first
	CostPerMonth   *Cost    `json:"costPerMonth,omitempty"`

	// Causes are those of what is held and of what lies in the poison queue, as far as they are known.
	Causes []Cause `json:"causes,omitempty"`
}

// A Worker is one that was seen at work.
type Worker struct {
	Name string    `json:"name"`
	Seen time.Time `json:"seen"`
}

// A Run is what was done for a slot.
type Run struct {
	Slot       time.Time        `json:"slot"`
	Seconds    float64          `json:"seconds"`
	Devices    int64            `json:"devices"`
	Readings   int64            `json:"readings"`
	LagSeconds *float64         `json:"lagSeconds,omitempty"`
	Jobs       map[string]int64 `json:"jobs,omitempty"`       // by kind and outcome: "device done"
	Operations map[string]int64 `json:"operations,omitempty"` // by service and kind: "tables query"
	Skipped    string           `json:"skipped,omitempty"`    // why
	Done       bool             `json:"done"`                 // as far as that is known
}

// A Cost is in US dollars a month.
type Cost struct {
	Total  float64            `json:"total"`
	ByKind map[string]float64 `json:"byKind,omitempty"`
	Source string             `json:"source,omitempty"` // of the prices
}

// A Cause is why something stands still, and how often it was seen.
type Cause struct {
	What   string `json:"what"` // held or poison
	Reason string `json:"reason"`
	N      int    `json:"n"`
}

// TenantsAnswer is the answer of /v1/tenants.
type TenantsAnswer struct {
	Tenants    []Tenant `json:"tenants"`
	Next       string   `json:"next,omitempty"` // what the next page comes after
	Total      int      `json:"total"`
	Operations int      `json:"operations"`
}

// A Tenant is whose devices are.
type Tenant struct {
	Tenant        string `json:"tenant"`
	Devices       int    `json:"devices"`
	ReadingsToday int64  `json:"readingsToday"`
	Estimated     bool   `json:"estimated,omitempty"` // from those of some of its devices
	Silent        int    `json:"silent"`
	Held          int    `json:"held"`
}
