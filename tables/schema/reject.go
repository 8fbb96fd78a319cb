package schema

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// RejectSlots is the number of rejects that a pipeline keeps for a device. They are a ring:
// a new reject replaces the oldest.
const RejectSlots = 100

// Properties that tell which rows the ring has, and since when.
const (
	RejectNumber = "Number"
	RejectRow    = "Row"
	RejectAt     = "At"
)

// A Reject is a row of the table rejects: a reading that a pipeline could not fold, or not
// completely, and the reason.
type Reject struct {
	Device   DeviceID
	Pipeline Pipeline
	Ring     Tenant       // empty: of the first tenant of the device; others have rings of their own
	Number   int64        `row:"Number"`          // of the reject in its ring and pipeline, from 0; determines the slot
	Row      string       `row:"Row,omitzero"`    // RowKey of the reading
	Sensor   string       `row:"Sensor,omitzero"` // the rejected sensors; empty: the whole row
	Reason   string       `row:"Reason,omitzero"`
	Value    string       `row:"Value,omitzero"`   // the values of those sensors, if the reason is about sensors
	Reading  string       `row:"Reading,omitzero"` // the reading as text
	At       tables.Ticks `row:"At"`               // when it was rejected
}

// Ring returns the ring of a membership: each has its own, because each pipeline numbers its rejects.
func (m Member) Ring() Tenant {
	if len(m.Spans) == 0 || m.Spans[0].From == 0 {
		return ""
	}
	return m.Tenant
}

// key returns the RowKey of a reject: pipeline!slot, or pipeline!tenant!slot.
func (r Reject) key() string {
	key := string(r.Pipeline) + Separator
	if r.Ring != "" {
		key += r.Ring.Key() + Separator
	}
	return fmt.Sprintf("%s%02d", key, r.Number%RejectSlots)
}

// RejectsOf returns the RowKeys of a pipeline's rejects.
func RejectsOf(p Pipeline) tables.Keys { return tables.KeysWithPrefix(string(p) + Separator) }

// Entity returns the row of r.
func (r Reject) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(r.Device), RowKey: r.key()}
	err := e.Encode(&r)
	_, errPipeline := ParsePipeline(string(r.Pipeline))
	return e, cmp.Or(errPipeline, err)
}

// RejectOf decodes a row of the table rejects.
func RejectOf(e tables.Entity) (Reject, error) {
	r := Reject{Device: DeviceID(e.PartitionKey)}
	f := decode(&e, &r)
	pipeline, slot, _ := strings.Cut(e.RowKey, Separator)
	var err error
	r.Pipeline, err = ParsePipeline(pipeline)
	if ring, last, is := strings.Cut(slot, Separator); is && err == nil {
		slot = last
		r.Ring, err = ParseTenantKey(ring)
	}
	if err == nil && slot != fmt.Sprintf("%02d", r.Number%RejectSlots) {
		err = fmt.Errorf("slot %s is not that of number %s", tables.Quote(slot), strconv.FormatInt(r.Number, 10))
	}
	f.Fail("RowKey", err)
	return r, f.Err()
}
