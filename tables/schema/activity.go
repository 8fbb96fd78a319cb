package schema

import (
	"fmt"
	"strings"
	"time"

	"furrow/tables"
)

// An Act is a row of the table activity: something that somebody did to the fleet. It is written before the act begins,
// and completed afterwards: without an outcome, the act is under way, or the process that did it died.
type Act struct {
	ID      string // random; ends the row key
	At      tables.Ticks
	Who     string // a name from the table access, or a user of the machine that ran a command
	From    string // dashboard or command
	What    string // such as "device revoke"
	Device  DeviceID
	Tenant  Tenant // that it is about; empty: the fleet
	Detail  string // such as "to 2026-11-20T08:00:00Z"
	Outcome string // or the error; empty: unknown
	Failed  bool
}

const (
	activityMonth = "2006-01"
	maxActText    = 1000 // characters of a Detail or an Outcome
)

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
	e.Set("At", tables.DateTime(a.At))
	for _, p := range []struct{ name, text string }{{"Who", a.Who}, {"From", a.From}, {"What", a.What},
		{"Device", string(a.Device)}, {"Tenant", string(a.Tenant)}, {"Detail", shortened(a.Detail, maxActText)},
		{"Outcome", shortened(a.Outcome, maxActText)}} {
		setNonzero(&e, p.name, tables.String(p.text))
	}
	e.Set("Failed", tables.Boolean(a.Failed))
	return e, checkPart("ID of an act", a.ID, maxSuffix)
}

// ActOf decodes a row of the table activity.
func ActOf(e tables.Entity) (Act, error) {
	f := fieldsOf(&e)
	a := Act{At: f.Ticks("At"), Who: f.String("Who"), From: f.String("From"), What: f.String("What"),
		Device: DeviceID(f.String("Device")), Tenant: Tenant(f.String("Tenant")), Detail: f.String("Detail"),
		Outcome: f.String("Outcome"), Failed: f.Boolean("Failed")}
	key, id, _ := strings.Cut(e.RowKey, "-")
	if a.ID = id; key != actKey(a.At) {
		f.Fail("At", fmt.Errorf("%s is not the time of the row key", a.At))
	}
	return a, f.Err()
}
