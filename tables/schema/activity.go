package schema

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
)

// An Act is a row of the table activity: something that somebody did to the fleet. It is written before the act begins,
// and completed afterwards: without an outcome, the act is under way, or the process that did it died.
type Act struct {
	ID      string       // random; ends the row key
	At      tables.Ticks `row:"At"`
	Who     string       `row:"Who,omitzero"`  // a name from the table access, or the user who ran a command
	From    string       `row:"From,omitzero"` // dashboard, API or command
	What    string       `row:"What,omitzero"` // such as "device revoke"
	Device  DeviceID     `row:"Device,omitzero"`
	Tenant  Tenant       `row:"Tenant,omitzero"`  // that it is about; empty: the fleet
	Detail  string       `row:"Detail,omitzero"`  // such as "to 2026-11-20T08:00:00Z"
	Outcome string       `row:"Outcome,omitzero"` // or the error; empty: unknown
	Failed  bool         `row:"Failed"`
}

const activityMonth = "2006-01"

// ActPartition returns the key of the acts of a month that are about a tenant, or for an empty tenant about the fleet.
func ActPartition(at time.Time, t Tenant) string {
	return at.UTC().Format(activityMonth) + Separator + t.Key()
}

// ParseActPartition returns the beginning of the month of a partition, and the tenant.
func ParseActPartition(s string) (month tables.Ticks, t Tenant, err error) {
	of, key, _ := strings.Cut(s, Separator)
	at, err := time.Parse(activityMonth, of)
	if err != nil || key == "" {
		return tables.TicksOf(at), "", err
	}
	t, err = ParseTenantKey(key)
	return tables.TicksOf(at), t, err
}

// ActsOfMonth returns the range of all acts of a month, whatever they are about.
func ActsOfMonth(at time.Time) tables.Range {
	return tables.Range{Partitions: tables.KeysWithPrefix(at.UTC().Format(activityMonth) + Separator)}
}

// ActRows returns the row keys of the acts from a time, included, to another, excluded. They count down, so that the
// newest act of a partition is the first.
func ActRows(from, to tables.Ticks) tables.Keys {
	return tables.Keys{From: actKey(to - 1), Before: actKey(max(0, from-1))}
}

func actKey(at tables.Ticks) string { return (tables.MaxTicks - at).String() }

// Entity returns the row of a.
func (a Act) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: ActPartition(a.At.Time(), a.Tenant), RowKey: actKey(a.At) + "-" + a.ID}
	a.Detail, a.Outcome = shortened(a.Detail), shortened(a.Outcome)
	err := e.Encode(&a)
	return e, cmp.Or(checkPart("ID of an act", a.ID, maxSuffix), err)
}

// ActOf decodes a row of the table activity.
func ActOf(e tables.Entity) (Act, error) {
	var a Act
	f := decode(&e, &a)
	key, id, _ := strings.Cut(e.RowKey, "-")
	if a.ID = id; key != actKey(a.At) {
		f.Fail("At", fmt.Errorf("%s is not the time of the row key", a.At))
	}
	return a, f.Err()
}
