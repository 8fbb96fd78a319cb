package tabular

import (
	"encoding/base64"

	flatbuffers "github.com/google/flatbuffers/go"
)

// durations returns the units of the columns that Arrow's own schema calls durations. The schema is metadata that a
// file may have, and that may be damaged: nothing of it is trusted, or allocated by a length that it says.
func durations(metadata string) (units map[string]string) {
	units = map[string]string{}
	defer func() { _ = recover() }() // of an offset beyond the end: what was found until then counts
	message, err := base64.StdEncoding.DecodeString(metadata)
	if err != nil || len(message) < 16 {
		return units
	}
	message = message[8:] // after the mark and the length of the message
	const (
		headerOf, fieldsOf, nameOf, kindOf, typeOf, unitOf = 8, 6, 4, 8, 10, 4 // offsets in the tables of Arrow's schema
		duration                                           = 18
	)
	schema := arrowRoot(message).child(headerOf)
	fields := schema.Vector(flatbuffers.UOffsetT(schema.Offset(fieldsOf)))
	for i := range min(schema.VectorLen(flatbuffers.UOffsetT(schema.Offset(fieldsOf))), MaxColumns) {
		field := arrowTable{flatbuffers.Table{Bytes: message, Pos: schema.Indirect(fields + flatbuffers.UOffsetT(4*i))}}
		if field.number(kindOf) != duration {
			continue
		}
		unit, of := "ms", field.child(typeOf)
		if at := of.Offset(unitOf); at != 0 {
			unit = []string{"s", "ms", "us", "ns"}[of.GetInt16(of.Pos+flatbuffers.UOffsetT(at))]
		}
		units[field.String(field.Pos+flatbuffers.UOffsetT(field.Offset(nameOf)))] = unit
	}
	return units
}
