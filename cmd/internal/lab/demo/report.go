package demo

import (
	"furrow/cmd/internal/estimate"
	"furrow/cmd/internal/lab/demo/check"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A Report is the result of a demo. Its JSON is stable: members may be added, and none changes.
type Report struct {
	OK       bool            `json:"ok"` // the check found no difference, and nothing lost or doubled
	Seconds  float64         `json:"seconds"`
	Storage  string          `json:"storage"` // URL of the Table service
	Own      bool            `json:"ownStorage"`
	Tenants  []schema.Tenant `json:"tenants"`
	Months   []schema.Month  `json:"months"` // in which devices were deployed
	Devices  int             `json:"devices"`
	Readings Readings        `json:"readings"`
	Check    check.Result    `json:"check"`
	Takeover Takeover        `json:"takeover"`
	Revoked  Revoked         `json:"revoked"`
	Alarm    Alarm           `json:"alarm"`
	Jobs     []Jobs          `json:"jobs"`
	Cost     estimate.Cost   `json:"costPerMonth"` // of this fleet on Azure, with a reading and a run every minute
}

// Readings counts the readings of a demo.
type Readings struct {
	Accepted int                     `json:"accepted"` // acknowledged by storage
	Folded   int                     `json:"folded"`   // in every output
	Late     int64                   `json:"late"`     // arrived after a later reading of their device was folded
	Rejected int                     `json:"rejected"` // with a value that was rejected
	Lost     int                     `json:"lost"`
	Doubled  int                     `json:"doubled"`
	SetAside map[device.Reason]int64 `json:"setAside"` // by the devices, which reported why
	Tokens   int64                   `json:"tokens"`
	Requests int64                   `json:"requests"` // that inserted them
}

// Jobs counts the jobs of a kind. The last seconds of the killed worker are missing: it could not report them.
type Jobs struct {
	Kind     string `json:"kind"`
	Messages int64  `json:"messages"` // done
	Devices  int64  `json:"devices"`  // in these messages
}
