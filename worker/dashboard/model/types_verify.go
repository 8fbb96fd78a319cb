package model

import "time"

// Completeness is the answer of /v1/verify: what the samples that the scheduler verified have counted in a month.
type Completeness struct {
	Tenant      string          `json:"tenant,omitempty"` // absent: all
	Verifies    bool            `json:"verifies"`         // the configuration has a block verify
	From        string          `json:"from"`             // first day of the month
	To          string          `json:"to"`               // last day, or today
	Share       float64         `json:"share"`            // of the devices, in the newest sample; zero without one
	At          *time.Time      `json:"at,omitempty"`     // when that was verified; nil: none was
	Unexplained int64           `json:"unexplained"`      // differences, as of the newest sample
	Differ      []VerifyDiffers `json:"differ"`           // as of the newest sample
	Tenants     []VerifyCount   `json:"tenants"`          // the month of each, the worst first
	Days        []VerifyCount   `json:"days"`             // the worst first
}

// A VerifyDiffers is a device with differences that nothing explains.
type VerifyDiffers struct {
	Tenant      string `json:"tenant"`
	Device      string `json:"device,omitempty"` // absent: reports of the tenant
	Day         string `json:"day"`              // of the first difference
	Output      string `json:"output"`
	Differences int64  `json:"differences"`
}

// A VerifyCount is what samples have counted of a tenant.
type VerifyCount struct {
	Tenant      string   `json:"tenant"`
	Day         string   `json:"day,omitempty"` // absent: the month
	Share       float64  `json:"share"`         // of the devices, in the sample; of a month: in the greatest
	Devices     int64    `json:"devices"`       // of a month: those of each day
	Made        int64    `json:"made"`          // readings, by the devices' numbers
	Missing     int64    `json:"missing"`       // of these
	Stored      int64    `json:"stored"`
	Rejected    int64    `json:"rejected"`
	Folded      int64    `json:"folded"` // by all pipelines together
	ToFold      int64    `json:"toFold"` // what that should be
	Unexplained int64    `json:"unexplained"`
	StoredShare *float64 `json:"storedShare,omitempty"` // of what was made; nil: devices give no numbers
	FoldedShare *float64 `json:"foldedShare,omitempty"` // of what was to be folded; nil: nothing was, or it is not known
}
