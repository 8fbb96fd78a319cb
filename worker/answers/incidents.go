package answers

import (
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// An Incident is a rule that held for a device.
type Incident struct {
	Opened   time.Time `json:"opened" column:"opened,exact"`                            // when it opened last
	Severity string    `json:"severity" column:"severity" enum:"critical warning info"` // info, warning or critical
	State    string    `json:"state" column:"state" enum:"open acknowledged closed"`    // open, acknowledged or closed
	Muted    bool      `json:"muted" column:"muted"`                                    // nobody is notified
	Rule     string    `json:"rule" column:"rule"`
	Device   string    `json:"device" column:"device"`
	Text     string    `json:"text" column:"text"`
	// When it closed. Absent while it is open, and in events of the stream.
	Closed *time.Time        `json:"closed,omitempty" column:"closed,exact"`
	ID     string            `json:"id" column:"id"` // rule~device~time of the first opening
	Tenant string            `json:"tenant" column:"tenant" people:"-"`
	Site   string            `json:"site,omitempty" column:"site" people:"-"`     // of the device, when it opened
	Labels map[string]string `json:"labels,omitempty" column:"labels" people:"-"` // of the device, when it opened
	Value  string            `json:"value,omitempty" column:"value" people:"-"`   // what the rule found
	First  time.Time         `json:"first" column:"first,exact" people:"-"`       // when it opened first
	Since  time.Time         `json:"since" column:"since,exact" people:"-"`       // when the rule began to hold
	// of closing, if it is not in the readings
	Reason string `json:"reason,omitempty" column:"reason" people:"-"`
}

// IncidentOf returns an incident.
func IncidentOf(i *query.Incident) Incident {
	one := Incident{ID: i.ID.String(), Rule: string(i.ID.Rule), Device: string(i.ID.Device),
		Tenant: string(i.Home.Tenant), Site: string(i.Site), Labels: i.Labels, Severity: i.Severity, State: i.State(),
		Muted: i.Muted, First: i.ID.First.Time(), Opened: i.At.Time(), Since: i.Since.Time(), Value: i.Value, Text: i.Text}
	if i.Closed != nil {
		one.Closed, one.Reason = new(i.Closed.At.Time()), i.Closed.Reason
	}
	return one
}

// An IncidentHistory is an incident with what happened in it.
type IncidentHistory struct {
	Incident
	Transitions []Transition   `json:"transitions"` // the oldest first
	Notes       []IncidentNote `json:"notes"`       // the oldest first
	Told        []IncidentTold `json:"told"`        // what became of its notifications, the oldest first
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
	// that it was told
	What     string    `json:"what" enum:"opened reopened announced closed"`
	Target   string    `json:"target"`  // its name in the configuration
	Outcome  string    `json:"outcome"` // sent, failed (it is tried again), given up or muted
	At       time.Time `json:"at"`
	Attempts int       `json:"attempts"`
	Repeat   int       `json:"repeat,omitempty"` // which repetition it was
	Delivery string    `json:"delivery"`         // its ID
	// Of the last attempt. Absent for somebody who may see one tenant.
	Error string `json:"error,omitempty"`
}

// An IncidentNote is what a person wrote beside an incident.
type IncidentNote struct {
	What string    `json:"what" enum:"acknowledged note"` // acknowledged or note
	At   time.Time `json:"at"`
	Who  string    `json:"who"`
	Text string    `json:"text,omitempty"`
}

// HistoryOf returns an incident with its transitions, notes and notifications.
func HistoryOf(i *query.Incident) IncidentHistory {
	h := IncidentHistory{Incident: IncidentOf(i), Transitions: []Transition{}, Notes: []IncidentNote{},
		Told: []IncidentTold{}}
	for _, t := range i.Transitions {
		h.Transitions = append(h.Transitions, Transition{What: t.What, At: t.At.Time().UTC(), Since: t.Since.Time().UTC(),
			Found: t.Found.Time().UTC(), Value: t.Value, Text: t.Text, Reason: t.Reason, Notify: t.Notify})
	}
	for _, n := range i.Notes {
		h.Notes = append(h.Notes, NoteOf(n))
	}
	for _, d := range i.Deliveries {
		h.Told = append(h.Told, IncidentTold{What: d.What, Target: string(d.Target), Outcome: d.Outcome,
			At: d.At.Time().UTC(), Attempts: d.Attempts, Repeat: d.Repeat, Delivery: d.ID(), Error: d.Error})
	}
	return h
}

// NoteOf returns a note.
func NoteOf(n schema.Note) IncidentNote {
	return IncidentNote{What: n.What, At: n.At.Time().UTC(), Who: n.Who, Text: n.Text}
}

// A Reject is a row, or a value of it, that could not be processed.
type Reject struct {
	Device string    `json:"device" column:"device"`
	Time   time.Time `json:"time,omitzero" column:"time,exact"` // of the row key; absent where it has none
	Row    string    `json:"row" column:"row"`
	// the sensors whose values were rejected; absent for a whole row
	Sensor string `json:"sensor,omitempty" column:"sensor"`
	// the values of the sensors, or the row as text; in /v1 at most 120 characters
	Value    string    `json:"value,omitempty" column:"value"`
	Reason   string    `json:"reason" column:"reason"`
	At       time.Time `json:"at" column:"at"` // when it was rejected
	Pipeline string    `json:"pipeline" column:"pipeline"`
	// number among the rejects of the device and pipeline, from 1
	Number  int64  `json:"number" column:"number"`
	Total   int64  `json:"total" column:"total"`     // rejects of the device in the pipeline so far
	Reading string `json:"reading" column:"reading"` // the row as text; in /v1 at most 120 characters
}

// RejectOf returns a reject.
func RejectOf(r query.Reject) Reject {
	return Reject{Device: string(r.Device), Time: timeOfTicks(r.Time), Row: r.Row, Sensor: r.Sensor, Value: r.Value,
		Reason: r.Reason, At: r.At.Time(), Pipeline: string(r.Pipeline), Number: r.Number + 1, Total: r.Total,
		Reading: r.Reading}
}
