package notify

import (
	"encoding/json"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An event is a message as a CloudEvent, in its JSON format.
type event struct {
	SpecVersion string    `json:"specversion"`
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	Data        eventData `json:"data"`
}

// Types of events.
const (
	typeIncidents = "furrow.incidents"
	typeTest      = "furrow.test"
)

type eventData struct {
	Target    schema.Target     `json:"target"`
	Group     map[string]string `json:"group,omitempty"`
	Incidents []eventIncident   `json:"incidents"`
}

// An eventIncident is a transition of an incident.
type eventIncident struct {
	Delivery string            `json:"delivery"` // ID; the same one may come again
	ID       string            `json:"id"`       // of the incident
	What     string            `json:"what"`     // opened, reopened, announced or closed
	Repeat   int               `json:"repeat,omitempty"`
	At       time.Time         `json:"at"`
	Since    time.Time         `json:"since"`
	Rule     schema.Rule       `json:"rule"`
	Device   schema.DeviceID   `json:"device"`
	Tenant   schema.Tenant     `json:"tenant"`
	Site     schema.Site       `json:"site,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Severity string            `json:"severity"`
	Value    string            `json:"value,omitempty"`
	Text     string            `json:"text"`
	Reason   string            `json:"reason,omitempty"` // of closing
}

func incidentOf(d schema.Delivery) eventIncident {
	return eventIncident{Delivery: d.ID(), ID: d.Transition.ID.String(), What: d.What, Repeat: d.Repeat,
		At: d.At.Time(), Since: d.Since.Time(), Rule: d.Transition.ID.Rule, Device: d.Transition.ID.Device,
		Tenant: d.Home.Tenant, Site: d.Site, Labels: d.Labels, Severity: d.Severity, Value: d.Value, Text: d.Text,
		Reason: d.Reason}
}

func (m message) event() event {
	e := event{SpecVersion: "1.0", ID: m.id, Source: "furrow", Type: typeIncidents, Time: m.at.UTC(),
		ContentType: "application/json", Data: eventData{Target: m.target.Name}}
	if m.test {
		e.Type = typeTest
	}
	if len(m.target.GroupBy) > 0 {
		e.Data.Group = m.target.group(m.deliveries[0])
	}
	for _, d := range m.deliveries {
		e.Data.Incidents = append(e.Data.Incidents, incidentOf(d))
	}
	return e
}

func (m message) json() ([]byte, error) { return json.Marshal(m.event()) }

// sample returns a delivery about nothing.
func sample(at tables.Ticks) schema.Delivery {
	return schema.Delivery{Transition: schema.Transition{
		Home:   schema.LatestPartition{Tenant: "test", Month: schema.MonthOf(at.Time(), 0)},
		ID:     schema.IncidentID{Rule: "test", Device: "test", First: at.Add(-time.Second)},
		Number: 2, What: schema.Closed, At: at, Since: at, Found: at, Severity: "info",
		Text: "a test of notifications; there is nothing to do"}}
}

// newest returns when the newest of deliveries was found.
func newest(all []schema.Delivery) (at tables.Ticks) {
	for _, d := range all {
		at = max(at, d.Found)
	}
	return at
}
