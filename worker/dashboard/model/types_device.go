package model

import (
	"time"

	"furrow/worker/answers"
	"furrow/worker/query"
)

// A DeviceList is the answer of /v1/devices.
type DeviceList struct {
	Sensor  string `json:"sensor,omitempty"` // of the values; absent where no device has one
	Unit    string `json:"unit,omitempty"`
	Devices []Row  `json:"devices"`
	Next    string `json:"next,omitempty"` // after of the next page; absent on the last page
	Total   int    `json:"total"`          // devices on all pages

	Counted
}

// A Row is a device in a list.
type Row struct {
	Device string            `json:"device" column:"device"`
	State  State             `json:"state" column:"state" enum:"ok new silent held revoked"`
	Value  any               `json:"value" column:"value,text"`    // a number, a text, or null
	Time   *time.Time        `json:"time,omitempty" column:"time"` // when it was last heard, heartbeats included
	Tenant string            `json:"tenant" column:"tenant"`
	Site   string            `json:"site,omitempty" column:"site"`
	Model  string            `json:"model,omitempty" column:"model"` // name of its model
	Labels map[string]string `json:"labels,omitempty" column:"labels"`
	Lat    *float64          `json:"lat,omitempty" column:"lat"`
	Lon    *float64          `json:"lon,omitempty" column:"lon"`
	Month  string            `json:"month" column:"month"` // month of deployment
	// since when it is silent; absent if it is not
	OverdueSince *time.Time `json:"overdueSince,omitempty" column:"overdue_since"`

	// the greatest of its open incidents that are not muted
	Severity string `json:"severity,omitempty" column:"severity" enum:"critical warning info"`
}

// A DeviceAnswer is the answer of /v1/devices/{id}.
type DeviceAnswer struct {
	Device answers.Record `json:"device"`
	State  State          `json:"state" enum:"ok new silent held revoked moved"`
	Heard  *time.Time     `json:"heard,omitempty"` // time of its newest reading, heartbeats included
	// interval between two readings that its model or its enrollment states; absent: none
	EverySeconds float64 `json:"everySeconds,omitempty"`
	// since when it is silent; absent if it is not
	OverdueSince *time.Time `json:"overdueSince,omitempty"`
	// the greatest of its open incidents that are not muted
	Severity  string           `json:"severity,omitempty" enum:"critical warning info"`
	Latest    []Latest         `json:"latest"`
	Rates     []Rate           `json:"rates,omitempty"` // if a pipeline keeps rates
	Pipelines []DevicePipeline `json:"pipelines"`
	Rejects   []answers.Reject `json:"rejects"` // the newest first
	// rows about the device that this program cannot read, such as rows of a newer program
	Unreadable []Unreadable `json:"unreadable,omitempty"`
	Counted
}

// An Unreadable is a row about a device that this program cannot read: a newer program wrote it, or it is damaged.
type Unreadable struct {
	Table  string `json:"table"`
	Row    string `json:"row"` // its RowKey
	Reason string `json:"reason"`
}

// A Latest is the newest value of a sensor of a device.
type Latest struct {
	Sensor string `json:"sensor"`
	answers.NewestValue
	AgeSeconds float64 `json:"ageSeconds"`
}

// A DevicePipeline is the progress of a pipeline on a device.
type DevicePipeline struct {
	Pipeline       string     `json:"pipeline"`
	Checkpoint     string     `json:"checkpoint,omitempty"` // a row key: rows up to it are folded
	CheckpointTime *time.Time `json:"checkpointTime,omitempty"`
	// age of the oldest reading after the checkpoint; 0 if there is none
	LagSeconds  *float64          `json:"lagSeconds,omitempty"`
	Rows        int64             `json:"rows"`
	Rejects     int64             `json:"rejects"`     // rows with a reject, in total
	RejectsKept int64             `json:"rejectsKept"` // rejects in storage, the newest
	Late        int64             `json:"late"`
	LastBatch   *LastBatch        `json:"lastBatch,omitempty"`
	Held        *Hold             `json:"held,omitempty"`
	Rest        *answers.Rest     `json:"rest,omitempty"`
	Days        []query.FoldedDay `json:"days"` // the last seven, the newest first; none before the first run
}

// A LastBatch is the rows that the last job with rows of the device has folded.
type LastBatch struct {
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"` // time to read and to fold them
}

// A Hold is why jobs pass over a device.
type Hold struct {
	Until    time.Time `json:"until"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
}
