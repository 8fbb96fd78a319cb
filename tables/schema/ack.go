package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"furrow/tables"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AckProperty is the property of a reading with which a device acknowledges a command: a text of JSON with the members
// id, state and, if there is one, result.
const AckProperty = "_ack"

// States of a command. A device acknowledges with those that AckStates lists.
const (
	CommandQueued    = "queued"
	CommandReceived  = "received"
	CommandSucceeded = "succeeded"
	CommandFailed    = "failed"
	CommandCanceled  = "canceled"
	CommandExpired   = "expired"
)

// AckStates returns the states with which a device can acknowledge a command.
func AckStates() []string { return []string{CommandReceived, CommandSucceeded, CommandFailed} }

const maxAckResult = 4 << 10 // bytes of JSON

// An Ack is a row of the table commands: a device's acknowledgement of a command or a desired configuration, as a
// reading told it.
type Ack struct {
	Device DeviceID
	ID     CommandID
	Row    RowKey // of the reading
	State  string `row:"State"`
	Result string `row:"Result,omitzero"` // JSON; empty: none
}

// An ackText is the JSON of an AckProperty.
type ackText struct {
	ID     CommandID      `json:"id"`
	State  string         `json:"state"`
	Result jsontext.Value `json:"result,omitzero"`
}

// Text returns the value of the AckProperty that tells a.
func (a Ack) Text() (string, error) {
	said := ackText{ID: a.ID, State: a.State}
	if a.Result != "" {
		said.Result = jsontext.Value(shortResult(a.Result))
	}
	text, err := json.Marshal(said)
	return string(text), err
}

// shortResult returns a result, or as text its beginning if it is too long.
func shortResult(result string) string {
	if len(result) <= maxAckResult {
		return result
	}
	short, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(result[:maxAckResult/2], "")+"…")
	if err != nil {
		return ""
	}
	return string(short)
}

// ParseAck reads the AckProperty of a row of readings.
func ParseAck(row tables.Entity, v tables.Value) (Ack, error) {
	r, err := ReadingOf(row)
	if err != nil {
		return Ack{}, err
	}
	var said ackText
	if v.Type() != tables.TypeString || json.Unmarshal([]byte(v.Text()), &said) != nil {
		return Ack{}, errors.New("it is not a text of JSON such as " +
			`{"id": "0639308592000000000-a1b2c3d4", "state": "succeeded"}`)
	}
	if _, err := ParseCommandID(string(said.ID)); err != nil {
		return Ack{}, err
	}
	if !slices.Contains(AckStates(), said.State) {
		return Ack{}, fmt.Errorf("state %s; want received, succeeded or failed", tables.Quote(said.State))
	}
	if string(said.Result) == "null" {
		said.Result = nil
	}
	return Ack{Device: r.Device, ID: said.ID, Row: r.Key, State: said.State, Result: shortResult(string(said.Result))}, nil
}

// Entity returns the row of a.
func (a Ack) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: string(a.Device), RowKey: string(a.ID) + ackInfix + a.Row.String()}
	_ = e.Encode(&a) // texts
	return e
}

// IsAck reports whether a row of the table commands is an acknowledgement.
func IsAck(e tables.Entity) bool { return strings.Contains(e.RowKey, ackInfix) }

// AckOf decodes an acknowledgement.
func AckOf(e tables.Entity) (Ack, error) {
	a := Ack{Device: DeviceID(e.PartitionKey)}
	f := decode(&e, &a)
	id, row, _ := strings.Cut(e.RowKey, ackInfix)
	a.ID = parsed(f, "RowKey", id, ParseCommandID)
	a.Row = parsed(f, "RowKey", row, ParseRowKey)
	return a, f.Err()
}
