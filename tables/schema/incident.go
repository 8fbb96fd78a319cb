package schema

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
)

// A Rule is the name of a rule: a lowercase letter, and then lowercase letters, digits and -.
type Rule string

// ParseRule returns s as a Rule, or why it is invalid.
func ParseRule(s string) (Rule, error) { return Rule(s), checkName("rule", s) }

// An IncidentID identifies an incident: a rule that held for a device, by the moment when it opened first.
type IncidentID struct {
	Rule   Rule
	Device DeviceID
	First  tables.Ticks
}

const incidentTime = "20060102T150405Z"

// String returns rule~device~time, such as overheating~pump-7~20261120T081500Z.
func (id IncidentID) String() string {
	at := strings.TrimSuffix(id.First.Time().Format(incidentTime), "Z")
	if rest := strings.TrimRight(fmt.Sprintf("%07d", id.First%(tables.Day/86400)), "0"); rest != "" {
		at += "." + rest
	}
	return string(id.Rule) + "~" + string(id.Device) + "~" + at + "Z"
}

// ParseIncidentID parses the result of String.
func ParseIncidentID(s string) (id IncidentID, err error) {
	parts := strings.Split(s, "~")
	if len(parts) != 3 {
		return id, fmt.Errorf("incident %s: want rule~device~time, such as overheating~pump-7~20261120T081500Z",
			tables.Quote(s))
	}
	err = cmp.Or(into(&id.Rule, parts[0], ParseRule), into(&id.Device, parts[1], ParseDeviceID))
	if err != nil {
		return id, err
	}
	at, err := time.Parse(incidentTime, parts[2])
	if id.First = tables.TicksOf(at); err != nil || id.String() != s {
		return id, fmt.Errorf("incident %s: want a time such as 20261120T081500Z at its end", tables.Quote(s))
	}
	return id, nil
}

// Key begins the row keys of everything about the incident. They count down, so that the newest incident of a
// partition is the first.
func (id IncidentID) Key() string {
	return (tables.MaxTicks - id.First).String() + Separator + string(id.Rule) + Separator + string(id.Device) + Separator
}

// Rows returns the row keys of everything about the incident.
func (id IncidentID) Rows() tables.Keys { return tables.KeysWithPrefix(id.Key()) }

// IncidentRows returns the row keys of the incidents that opened from a time, included, to another, excluded.
func IncidentRows(from, to tables.Ticks) tables.Keys {
	return tables.Keys{From: (tables.MaxTicks - to + 1).String(), Before: (tables.MaxTicks - from + 1).String()}
}

// incidentOf returns the incident of a row key, and the rest of the key.
func incidentOf(rowKey string) (id IncidentID, rest string, err error) {
	parts, err := split("row of incidents", rowKey, 4)
	if err != nil {
		return id, "", err
	}
	left, err := tables.ParseTicks(parts[0])
	id.First = tables.MaxTicks - left
	err = cmp.Or(err, into(&id.Rule, parts[1], ParseRule), into(&id.Device, parts[2], ParseDeviceID))
	return id, parts[3], err
}

// IncidentsOfTenant returns the PartitionKeys of a tenant's incidents, without those of OpenIncidents and of Mutes.
func IncidentsOfTenant(t Tenant) tables.Keys {
	return tables.Keys{From: t.Key() + Separator + "0", Before: t.Key() + Separator + ":"}
}

// OpenIncidents returns the PartitionKey of the index of a tenant's open incidents.
func OpenIncidents(t Tenant) string { return t.Key() + Separator + "open" }

// Changes of incidents.
const (
	Opened   = "opened"
	Reopened = "reopened"
	Closed   = "closed"
	// Announced says that an incident is made known now, because it opened too long ago when its readings came.
	Announced = "announced"
)

// A Transition is a row of the table incidents: an incident opened or closed. Rows are inserted once and never change.
type Transition struct {
	Home     LatestPartition
	ID       IncidentID
	Number   int               // of the transition, from 1: odd ones open, even ones close
	What     string            `row:"What,omitzero"`
	At       tables.Ticks      `row:"At,int64"`    // when it happened, by the rows' own time
	Since    tables.Ticks      `row:"Since,int64"` // when the rule began to hold
	Found    tables.Ticks      `row:"Found,int64"` // horizon of the job that found it
	Severity string            `row:"Severity,omitzero"`
	Value    string            `row:"Value,omitzero"`
	Text     string            `row:"Text,omitzero"`
	Reason   string            `row:"Reason,omitzero"` // of closing, if it is not the device's readings
	Site     Site              `row:"Site,omitzero"`
	Labels   map[string]string `row:"Labels,omitzero"` // of the device
	Notify   bool              `row:"Notify"`          // notifications go out

	// Acknowledged says, in the index of open incidents, that somebody takes care of it.
	Acknowledged bool `row:"Acknowledged,omitzero"`
}

// Opens reports whether the incident is open after the transition.
func (t Transition) Opens() bool { return t.Number%2 == 1 }

// rowKey returns the key of the transition, or of its announcement.
func (t Transition) rowKey() string {
	kind := "t"
	if t.What == Announced {
		kind = "n"
	}
	return fmt.Sprintf("%s%s%08d", t.ID.Key(), kind, t.Number)
}

// Entity returns the row of t.
func (t Transition) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: t.Home.String(), RowKey: t.rowKey()}
	t.set(&e)
	return e
}

// IndexRow returns the keys of the row of the index of open incidents that t adds or, if it closes, removes.
func (t Transition) IndexRow() (pk, rk string) {
	if !t.Opens() {
		t.Number, t.What = t.Number-1, Opened
	}
	return OpenIncidents(t.Home.Tenant), t.rowKey()
}

// IndexEntity returns the row of the index of open incidents, for a transition that opens.
func (t Transition) IndexEntity() tables.Entity {
	e := tables.Entity{}
	e.PartitionKey, e.RowKey = t.IndexRow()
	e.Set("Month", tables.String(t.Home.Month.String()))
	t.set(&e)
	return e
}

func (t Transition) set(e *tables.Entity) {
	setNonzero(e, "Rule", tables.String(string(t.ID.Rule)))
	setNonzero(e, "Device", tables.String(string(t.ID.Device)))
	t.Acknowledged = false
	_ = e.Encode(&t) // the membership has the labels in the same form
}

// TransitionOf decodes a row of a transition, or one of the index of open incidents.
func TransitionOf(e tables.Entity) (Transition, error) {
	var t Transition
	f := decode(&e, &t)
	id, rest, err := incidentOf(e.RowKey)
	f.Fail("RowKey", err)
	t.ID = id
	if _, err := fmt.Sscanf(rest, "t%08d", &t.Number); err != nil {
		_, err = fmt.Sscanf(rest, "n%08d", &t.Number)
		f.Fail("RowKey", err)
	}
	if month := f.String("Month"); month != "" {
		t.Home, err = indexed(e.PartitionKey, month)
	} else {
		t.Home, err = ParseLatestPartition(e.PartitionKey)
	}
	f.Fail("PartitionKey", err)
	return t, f.Err()
}

// indexed returns where the incident of an entry of the index is.
func indexed(partition, month string) (home LatestPartition, err error) {
	tenant, _, _ := strings.Cut(partition, Separator)
	err = cmp.Or(into(&home.Tenant, tenant, ParseTenantKey), into(&home.Month, month, ParseMonth))
	return home, err
}
