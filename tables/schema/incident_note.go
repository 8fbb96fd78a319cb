package schema

import (
	"cmp"
	"fmt"
	"strings"

	"furrow/tables"
)

// What people write beside an incident.
const (
	Acknowledged = "acknowledged"
	Noted        = "note"
)

// A Note is a row of the table incidents that a person wrote: an acknowledgement, or a note. The jobs never write or
// change it.
type Note struct {
	ID     string       // random; ends the row key
	What   string       `row:"What"`   // Acknowledged or Noted
	Number int          `row:"Number"` // of the transition that was acknowledged
	At     tables.Ticks `row:"At"`
	Who    string       `row:"Who,omitzero"`
	Text   string       `row:"Text,omitzero"`
}

// Entity returns the row of n, beside an incident.
func (n Note) Entity(home LatestPartition, of IncidentID) (tables.Entity, error) {
	e := tables.Entity{PartitionKey: home.String(), RowKey: of.Key() + "p" + n.At.String() + "-" + n.ID}
	e.Set("Device", tables.String(string(of.Device)))
	n.Text = shortened(n.Text)
	err := e.Encode(&n)
	return e, cmp.Or(checkPart("ID of a note", n.ID, maxSuffix), err)
}

// NoteOf decodes a row of a note.
func NoteOf(e tables.Entity) (Note, error) {
	var n Note
	f := decode(&e, &n)
	_, rest, err := incidentOf(e.RowKey)
	if _, n.ID, _ = strings.Cut(rest, "-"); err == nil && (!strings.HasPrefix(rest, "p") || n.ID == "") {
		err = fmt.Errorf("row %s is no note", tables.Quote(e.RowKey))
	}
	f.Fail("RowKey", err)
	return n, f.Err()
}

// IncidentRowKind tells the rows of an incident apart: t a transition, n an announcement, p what a person wrote, d
// what became of a delivery.
func IncidentRowKind(rowKey string) (id IncidentID, kind byte, err error) {
	id, rest, err := incidentOf(rowKey)
	if err == nil && rest == "" {
		err = fmt.Errorf("row %s of an incident has no kind", tables.Quote(rowKey))
	}
	if err != nil {
		return id, 0, err
	}
	return id, rest[0], nil
}
