package schema

import (
	"fmt"
	"strings"

	"furrow/tables"
)

// Deliveries is the table of deliveries, without the prefix of the fleet's names.
const Deliveries = "deliveries"

// A Delivery is a row of the table deliveries: a transition that a target is still to be told. It is a hint: the
// DeliveryRecord beside the incident says whether that has been done.
type Delivery struct {
	Target Target
	Transition
	Repeat   int          `row:"Repeat,omitzero"`    // number of the repetition; zero: the first notification
	Due      tables.Ticks `row:"Due,int64,omitzero"` // no earlier; zero: at once
	Attempts int          `row:"Attempts,omitzero"`
	Message  string       `row:"Message,omitzero"` // the message that it is sent with, from the first attempt on
	Error    string       `row:"Error,omitzero"`   // of the last attempt, if it was given up
	// Erased says that the data of the device was deleted. The target is still told, and nothing is left afterwards.
	Erased bool `row:"Erased,omitzero"`
	ETag   tables.ETag
}

// DeliveryErased is the property for Delivery.Erased.
const DeliveryErased = "Erased"

// ID identifies the delivery: the incident, the number of its transition, the target, and the number of a repetition,
// as in hot~pump-7~20261120T081500Z~1~ops.
func (d Delivery) ID() string {
	id := fmt.Sprintf("%s~%d~%s", d.Transition.ID, d.Number, d.Target)
	if d.Repeat > 0 {
		id += fmt.Sprintf("~r%d", d.Repeat)
	}
	return id
}

// DeliveriesTo returns the PartitionKeys of what a target is still to be told.
func DeliveriesTo(t Target) tables.Keys {
	return tables.Keys{From: string(t) + Separator + "0", Before: string(t) + Separator + ":"}
}

// GivenUp returns the PartitionKey of what a target could not be told.
func GivenUp(t Target) string { return string(t) + Separator + "given-up" }

// DeliveryTarget returns the target of a partition of the table deliveries.
func DeliveryTarget(partitionKey string) Target {
	name, _, _ := strings.Cut(partitionKey, Separator)
	return Target(name)
}

// Keys returns the keys of the row of d.
func (d Delivery) Keys() (pk, rk string) {
	return string(d.Target) + Separator + d.Home.Month.String(), d.Home.Tenant.Key() + Separator + d.rowKey()
}

// Entity returns the row of d.
func (d Delivery) Entity() tables.Entity {
	var e tables.Entity
	e.PartitionKey, e.RowKey = d.Keys()
	d.set(&e)
	return e
}

// GivenUpEntity returns the row of d after it was given up.
func (d Delivery) GivenUpEntity() tables.Entity {
	month, rest := d.Keys()
	_, month, _ = strings.Cut(month, Separator)
	e := tables.Entity{PartitionKey: GivenUp(d.Target), RowKey: month + Separator + rest}
	d.set(&e)
	return e
}

func (d Delivery) set(e *tables.Entity) {
	d.Transition.set(e)
	d.Error = shortened(d.Error)
	_ = e.Encode(&d) // texts and numbers
}

// DeliveryOf decodes a row of the table deliveries.
func DeliveryOf(e tables.Entity) (d Delivery, err error) {
	target, month, _ := strings.Cut(e.PartitionKey, Separator)
	row := e.RowKey
	if e.PartitionKey == GivenUp(Target(target)) {
		month, row, _ = strings.Cut(row, Separator)
	}
	tenant, row, _ := strings.Cut(row, Separator)
	own := tables.Entity{PartitionKey: tenant + Separator + month, RowKey: row, Properties: e.Properties}
	if d.Transition, err = TransitionOf(own); err != nil {
		return d, fmt.Errorf("delivery %s %s: %w", tables.Quote(e.PartitionKey), tables.Quote(e.RowKey), err)
	}
	f := decode(&e, &d)
	d.ETag = e.ETag
	d.Target = parsed(f, "PartitionKey", target, ParseTarget)
	return d, f.Err()
}

// Outcomes of a delivery.
const (
	Delivered     = "sent"
	DeliveryTried = "failed"   // it is tried again
	GaveUp        = "given up" // it is not
	WasMuted      = "muted"    // the incident was muted until it closed
)

// A DeliveryRecord is a row of the table incidents, beside the incident: what became of a delivery.
type DeliveryRecord struct {
	Delivery        // its Error is that of the last attempt
	Outcome  string // Delivered, DeliveryTried, GaveUp or WasMuted
	At       tables.Ticks
}

// Final reports whether the delivery is not to be sent any more, whatever the table deliveries says.
func (r DeliveryRecord) Final() bool { return r.Outcome == Delivered || r.Outcome == WasMuted }

// RecordKeys returns the keys of the row that says what became of d.
func (d Delivery) RecordKeys() (pk, rk string) {
	return d.Home.String(), fmt.Sprintf("%sd%08d~%s~%d", d.Transition.ID.Key(), d.Number, d.Target, d.Repeat)
}

// Entity returns the row of r.
func (r DeliveryRecord) Entity() tables.Entity {
	var e tables.Entity
	e.PartitionKey, e.RowKey = r.RecordKeys()
	e.Set("Device", tables.String(string(r.Transition.ID.Device)))
	e.Set("What", tables.String(r.What))
	e.Set("Outcome", tables.String(r.Outcome))
	e.Set("Attempts", tables.Int64(int64(r.Attempts)))
	e.Set("At", tables.DateTime(r.At))
	setNonzero(&e, "Message", tables.String(r.Message))
	setNonzero(&e, "Error", tables.String(shortened(r.Error)))
	return e
}

// DeliveryRecordOf decodes a row of a DeliveryRecord. Of the transition, it has only the keys and What.
func DeliveryRecordOf(e tables.Entity) (r DeliveryRecord, err error) {
	f := fieldsOf(&e)
	r = DeliveryRecord{Outcome: f.String("Outcome"), At: f.Ticks("At")}
	r.What, r.Attempts, r.Message = f.String("What"), int(f.Int("Attempts")), f.String("Message")
	r.Error, r.ETag = f.String("Error"), e.ETag
	id, rest, err := incidentOf(e.RowKey)
	f.Fail("RowKey", err)
	r.Transition.ID = id
	parts := strings.Split(rest, "~")
	if len(parts) != 3 {
		f.Fail("RowKey", fmt.Errorf("%s is no record of a delivery", tables.Quote(rest)))
		return r, f.Err()
	}
	_, err = fmt.Sscanf(parts[0]+" "+parts[2], "d%08d %d", &r.Number, &r.Repeat)
	f.Fail("RowKey", err)
	r.Target = parsed(f, "RowKey", parts[1], ParseTarget)
	r.Home = parsed(f, "PartitionKey", e.PartitionKey, ParseLatestPartition)
	return r, f.Err()
}
