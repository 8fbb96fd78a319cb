package schema

import (
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// RejectSlots is the number of rejects that a pipeline keeps of a device. They
// are a ring: the next reject replaces the oldest.
const RejectSlots = 100

// A Reject is a row of the table rejects: a reading that a pipeline could not
// fold, or not all of it, and why.
type Reject struct {
	Device   DeviceID
	Pipeline Pipeline
	Number   int64  // counts the rejects of the device and pipeline, from 0; decides the slot
	Row      string // RowKey of the reading
	Sensor   string // the sensors that were rejected; empty: the whole row
	Reason   string
	Value    string       // what those sensors said, where the reason is about sensors
	Reading  string       // the reading as text
	At       tables.Ticks // when it was rejected
}

// RejectKey is the RowKey of a pipeline's reject with a number: pipeline!slot.
func RejectKey(p Pipeline, number int64) string {
	return fmt.Sprintf("%s%s%02d", p, Separator, number%RejectSlots)
}

// RejectsOf are the RowKeys of one pipeline's rejects.
func RejectsOf(p Pipeline) tables.Keys { return tables.KeysWithPrefix(string(p) + Separator) }

// Entity is r as it is stored.
func (r Reject) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(r.Device), RowKey: RejectKey(r.Pipeline, r.Number)}
	e.Set("Number", tables.Int64(r.Number))
	e.Set("At", tables.DateTime(r.At))
	for _, p := range []struct{ name, text string }{
		{"Row", r.Row}, {"Sensor", r.Sensor}, {"Reason", r.Reason}, {"Value", r.Value}, {"Reading", r.Reading},
	} {
		if p.text != "" {
			e.Set(p.name, tables.String(p.text))
		}
	}
	_, err := ParsePipeline(string(r.Pipeline))
	return e, err
}

// RejectOf is a row of the table rejects.
func RejectOf(e tables.Entity) (Reject, error) {
	f := fieldsOf(&e)
	r := Reject{
		Device: DeviceID(e.PartitionKey), Number: f.Int("Number"), Row: f.String("Row"), Sensor: f.String("Sensor"),
		Reason: f.String("Reason"), Value: f.String("Value"), Reading: f.String("Reading"), At: f.Ticks("At"),
	}
	pipeline, slot, _ := strings.Cut(e.RowKey, Separator)
	var err error
	r.Pipeline, err = ParsePipeline(pipeline)
	if err == nil && slot != fmt.Sprintf("%02d", r.Number%RejectSlots) {
		err = fmt.Errorf("slot %s is not that of number %s", tables.Quote(slot), strconv.FormatInt(r.Number, 10))
	}
	f.Fail("RowKey", err)
	return r, f.Err()
}
