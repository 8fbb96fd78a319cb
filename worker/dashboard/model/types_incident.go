package model

import "time"

// An Incident is a rule that held for a device.
type Incident struct {
	ID       string            `json:"id"` // rule~device~time of the first opening
	Rule     string            `json:"rule"`
	Device   string            `json:"device"`
	Tenant   string            `json:"tenant"`
	Site     string            `json:"site,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"` // of the device, when it opened
	Severity string            `json:"severity"`
	State    string            `json:"state"` // open, acknowledged or closed
	Muted    bool              `json:"muted"` // nobody is notified
	First    time.Time         `json:"first"` // when it opened first
	Opened   time.Time         `json:"opened"`
	Since    time.Time         `json:"since"` // when the rule began to hold
	Value    string            `json:"value,omitempty"`
	Text     string            `json:"text"`
	Closed   *time.Time        `json:"closed,omitempty"`
	Reason   string            `json:"reason,omitempty"` // of closing, if it is not in the readings
}

// Incidents is the answer of /v1/incidents.
type Incidents struct {
	Bounds
	Rows []Incident `json:"rows"`
	Extent
}

// An IncidentAnswer is the answer of /v1/incidents/{incident}.
type IncidentAnswer struct {
	Incident
	Transitions []Transition   `json:"transitions"` // the oldest first
	Notes       []IncidentNote `json:"notes"`       // the oldest first
	Operations  int            `json:"operations"`
}

// A Transition is an opening or a closing of an incident.
type Transition struct {
	What   string    `json:"what"` // opened, reopened or closed
	At     time.Time `json:"at"`
	Since  time.Time `json:"since"` // when the rule began to hold
	Found  time.Time `json:"found"` // until when the job that found it had read
	Value  string    `json:"value,omitempty"`
	Text   string    `json:"text"`
	Reason string    `json:"reason,omitempty"` // of closing, if it is not in the readings
	Notify bool      `json:"notify"`           // somebody is notified
}

// An IncidentNote is what a person wrote beside an incident.
type IncidentNote struct {
	What string    `json:"what"` // acknowledged or note
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Text string    `json:"text,omitempty"`
}

// An IncidentChange is the event incident of /v1/stream.
type IncidentChange struct {
	What     string   `json:"what"` // opened, changed or closed
	Incident Incident `json:"incident"`
}

// OpenIncidents counts the incidents that are not closed.
type OpenIncidents struct {
	Critical     int  `json:"critical"`
	Warning      int  `json:"warning"`
	Info         int  `json:"info"`
	Acknowledged int  `json:"acknowledged"`   // of all
	Muted        int  `json:"muted"`          // of all
	More         bool `json:"more,omitempty"` // there are more than the dashboard reads
}
