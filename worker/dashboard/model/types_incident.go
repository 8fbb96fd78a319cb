package model

import "furrow/worker/answers"

// Incidents is the answer of /v1/incidents.
type Incidents struct {
	Bounds
	Rows []answers.Incident `json:"rows"`
	Extent
}

// An IncidentAnswer is the answer of /v1/incidents/{incident}.
type IncidentAnswer struct {
	answers.IncidentHistory
	Counted
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
