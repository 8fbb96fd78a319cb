package model

import "time"

// A DeviceList is the answer of /v1/devices.
type DeviceList struct {
	Sensor  string `json:"sensor,omitempty"` // of the values
	Unit    string `json:"unit,omitempty"`
	Devices []Row  `json:"devices"`
	Next    string `json:"next,omitempty"` // cursor of the next page
	Total   int    `json:"total"`

	Operations int `json:"operations"`
}

// A Row is a device in a list.
type Row struct {
	Device string            `json:"device"`
	Tenant string            `json:"tenant"`
	Site   string            `json:"site,omitempty"`
	Lat    *float64          `json:"lat,omitempty"`
	Lon    *float64          `json:"lon,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Model  string            `json:"model,omitempty"`
	Month  string            `json:"month"`
	State  State             `json:"state"`
	Time   *time.Time        `json:"time,omitempty"` // of its newest value
	Value  any               `json:"value"`          // a float64, a string, or nil

	Severity string `json:"severity,omitempty"` // the greatest of its open incidents that are not muted
}

// A DeviceAnswer is the answer of /v1/devices/{id}.
type DeviceAnswer struct {
	Device     Record           `json:"device"`
	State      State            `json:"state"`
	Latest     []Latest         `json:"latest"`
	Rates      []Rate           `json:"rates,omitempty"`
	Pipelines  []DevicePipeline `json:"pipelines"`
	Rejects    []Reject         `json:"rejects"`
	Unreadable []Unreadable     `json:"unreadable,omitempty"`
	Operations int              `json:"operations"`
}

// An Unreadable is a row about a device that this program cannot read: a newer program wrote it, or it is damaged.
type Unreadable struct {
	Table  string `json:"table"`
	Row    string `json:"row"` // its RowKey
	Reason string `json:"reason"`
}

// A Record is a device's record, as in furrow device show --json.
type Record struct {
	Device     string            `json:"device"`
	Month      string            `json:"month"`
	Tenant     string            `json:"tenant"`
	Site       string            `json:"site,omitempty"`
	Lat        *float64          `json:"lat,omitempty"`
	Lon        *float64          `json:"lon,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Readings   string            `json:"readings"`
	Enrollment string            `json:"enrollment,omitempty"`
	Status     string            `json:"status"`          // active, revoked, or moved: it belongs to another tenant now
	Until      *time.Time        `json:"until,omitempty"` // when it moved
	InFleet    *bool             `json:"inFleet,omitempty"`
	Tokens     []Token           `json:"tokens,omitempty"`
}

// A Token was issued to a device.
type Token struct {
	Policy      string    `json:"policy"`
	From        time.Time `json:"from"` // the earliest row that it allows
	To          time.Time `json:"to"`
	Expires     time.Time `json:"expires"`
	Ended       bool      `json:"ended"` // whether a revocation ended it: of the device, or of another one of its cohort
	Fingerprint string    `json:"fingerprint"`
}

// A Latest is the newest value of a sensor of a device.
type Latest struct {
	Sensor     string    `json:"sensor"`
	Value      any       `json:"value"` // a float64 or a string
	Unit       string    `json:"unit,omitempty"`
	Time       time.Time `json:"time"`
	AgeSeconds float64   `json:"ageSeconds"`
	Doubtful   bool      `json:"doubtful,omitempty"`
}

// A DevicePipeline is the progress of a pipeline on a device.
type DevicePipeline struct {
	Pipeline       string     `json:"pipeline"`
	Checkpoint     string     `json:"checkpoint,omitempty"` // row key; empty before the first run
	CheckpointTime *time.Time `json:"checkpointTime,omitempty"`
	LagSeconds     *float64   `json:"lagSeconds,omitempty"`
	Rows           int64      `json:"rows"`
	Rejects        int64      `json:"rejects"`
	RejectsKept    int64      `json:"rejectsKept"` // in storage, the newest
	Late           int64      `json:"late"`
	LastBatch      *LastBatch `json:"lastBatch,omitempty"`
	Held           *Hold      `json:"held,omitempty"`
}

// A LastBatch is the rows that the last job with rows of the device has folded.
type LastBatch struct {
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds"` // to read and to fold them
}

// A Hold is why jobs pass over a device.
type Hold struct {
	Until    time.Time `json:"until"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
}

// A Reject is a row, or a value of it, that could not be processed.
type Reject struct {
	Pipeline string     `json:"pipeline"`
	Number   int64      `json:"number"` // among the rejects of the device and pipeline, from 1
	Row      string     `json:"row"`
	Time     *time.Time `json:"time,omitempty"`
	Sensor   string     `json:"sensor,omitempty"` // empty: the whole row
	Reason   string     `json:"reason"`
	Value    string     `json:"value,omitempty"` // of the sensor, or the whole row
	At       time.Time  `json:"at"`
}
