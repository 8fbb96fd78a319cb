package model

import (
	"time"

	"furrow/worker/answers"
)

// Incidents is the answer of /v1/incidents.
type Incidents struct {
	Bounds
	Rows []answers.Incident `json:"rows"`
	Extent
}

// An IncidentAnswer is the answer of /v1/incidents/{incident}.
type IncidentAnswer struct {
	answers.Incident
	Transitions []Transition   `json:"transitions"` // the oldest first
	Notes       []IncidentNote `json:"notes"`       // the oldest first
	Told        []IncidentTold `json:"told"`        // what became of its notifications, the oldest first
	Counted
}

// A Transition is an opening or a closing of an incident.
type Transition struct {
	What   string    `json:"what" enum:"opened reopened closed"` // opened, reopened or closed
	At     time.Time `json:"at"`
	Since  time.Time `json:"since"` // when the rule began to hold
	Found  time.Time `json:"found"` // until when the job that found it had read
	Value  string    `json:"value,omitempty"`
	Text   string    `json:"text"`
	Reason string    `json:"reason,omitempty"` // of closing, if it is not in the readings
	Notify bool      `json:"notify"`           // somebody is notified
}

// An IncidentTold is what became of the notification of one target.
type IncidentTold struct {
	What     string    `json:"what" enum:"opened reopened closed"` // that it was told
	Target   string    `json:"target"`                             // its name in the configuration
	Outcome  string    `json:"outcome"`                            // sent, failed (it is tried again), given up or muted
	At       time.Time `json:"at"`
	Attempts int       `json:"attempts"`
}

// An IncidentNote is what a person wrote beside an incident.
type IncidentNote struct {
	What string    `json:"what" enum:"acknowledged note"` // acknowledged or note
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Text string    `json:"text,omitempty"`
}

// An IncidentChange is the event incident of /v1/stream.
type IncidentChange struct {
	What     string           `json:"what" enum:"opened changed closed"` // changed: it was acknowledged or muted, or is no longer
	Incident answers.Incident `json:"incident"`
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
