package model

import "time"

// Completeness is the answer of /v1/verify: what the samples that the scheduler verified have counted in a month.
type Completeness struct {
	Tenant   string  `json:"tenant,omitempty"` // Only this tenant. Absent: all.
	Verifies bool    `json:"verifies"`         // the configuration has a block verify
	From     string  `json:"from"`             // first day of the month
	To       string  `json:"to"`               // last day of the month, or today
	Share    float64 `json:"share"`            // share of the devices in the newest sample; 0 before the first
	// When the newest sample was verified. Absent before the first.
	At *time.Time `json:"at,omitempty"`
	// Differences that nothing explains, as of the newest sample. Of one tenant: those of the devices in differ.
	Unexplained int64           `json:"unexplained"`
	Differ      []VerifyDiffers `json:"differ"`  // devices that have them; at most 50 of each storage account
	Tenants     []VerifyCount   `json:"tenants"` // a line for the month of each tenant, the worst first
	Days        []VerifyCount   `json:"days"`    // a line for each tenant and day, the worst first
}

// A VerifyDiffers is a device with differences that nothing explains.
type VerifyDiffers struct {
	Tenant      string `json:"tenant"`
	Device      string `json:"device,omitempty"` // absent: the reports of the tenant
	Day         string `json:"day"`              // day of the first difference
	Output      string `json:"output"`           // such as folded, latest or rollups 1h
	Differences int64  `json:"differences"`
}

// A VerifyCount is what samples have counted of a tenant.
type VerifyCount struct {
	Tenant      string  `json:"tenant"`
	Day         string  `json:"day,omitempty"` // UTC. Absent: the month.
	Share       float64 `json:"share"`         // share of the devices in the sample; of a month, in the greatest
	Devices     int64   `json:"devices"`       // Of the sample, with readings. Of a month, the sum over its days.
	Made        int64   `json:"made"`          // readings, by the numbers that devices give them
	Missing     int64   `json:"missing"`       // of these, storage does not have them
	Stored      int64   `json:"stored"`
	Rejected    int64   `json:"rejected"`    // of these, rejected as a whole or in part
	Folded      int64   `json:"folded"`      // by all pipelines together
	ToFold      int64   `json:"toFold"`      // what that should be: with what waits, is late or in flight
	Unexplained int64   `json:"unexplained"` // differences that nothing explains, when the sample was verified
	// Share of what was made that is stored. Absent: devices give no numbers.
	StoredShare *float64 `json:"storedShare,omitempty"`
	// Share of what was to be folded that was. Absent: nothing was, or it is not known.
	FoldedShare *float64 `json:"foldedShare,omitempty"`
}
