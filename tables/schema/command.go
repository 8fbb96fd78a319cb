package schema

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"furrow/tables"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of commands.
const (
	// MaxCommands is how many commands may wait for a device.
	MaxCommands = 50
	// MaxCommandLife is how long a command may wait. Devices look no further back.
	MaxCommandLife = 7 * 24 * time.Hour
	// MaxCommandBody is the maximum length of the JSON of a command, or of a desired configuration, in bytes.
	MaxCommandBody = 16 << 10

	minCommandLife = time.Second
)

// Keys of the table commands. The rows of a device, in this order, are the counter, its commands, each with its
// acknowledgements, and its desired configuration.
const (
	CommandCounterRow = "!count"
	DesiredRow        = "desired"

	ackInfix = Separator + "ack" + Separator
)

// A CommandID identifies a command, or a version of a desired configuration, of a device: the ticks when it was sent, a
// dash and 1 to 64 of the characters of a DeviceID.
type CommandID string

// ParseCommandID returns s as a CommandID, or why it is invalid.
func ParseCommandID(s string) (CommandID, error) {
	k, err := ParseRowKey(s)
	if err != nil || k.Suffix == "" {
		return "", fmt.Errorf("command %s: want the ID that furrow command list prints, such as 0639308592000000000-a1b2c3d4",
			tables.Quote(s))
	}
	return CommandID(s), nil
}

// NewCommandID returns the ID of a command that is sent at a time.
func NewCommandID(at tables.Ticks, suffix string) CommandID {
	return CommandID(RowKey{at, strings.ToLower(suffix)}.String())
}

// Sent returns when a command was sent.
func (id CommandID) Sent() tables.Ticks {
	k, _ := ParseRowKey(string(id))
	return k.Ticks
}

// A Command is a row of the table commands: something that a device is to do, or the configuration that it is to have.
type Command struct {
	Device   DeviceID
	ID       CommandID
	Body     string       `row:"Body"`              // JSON
	Expires  tables.Ticks `row:"Expires"`           // tables.MaxTicks for a desired configuration
	Who      string       `row:"Who,omitzero"`      // sent it: a person, or a rule
	Incident string       `row:"Incident,omitzero"` // that it was sent for, if a rule sent it
	Canceled tables.Ticks `row:"Canceled,omitzero"` // zero: it is not
	By       string       `row:"By,omitzero"`       // canceled it
	Desired  bool         // it is the desired configuration
	ETag     tables.ETag  // of the version that was read
}

// CommandExpires is the property with the time until which a device heeds a command: devices filter by it.
const CommandExpires = "Expires"

// Entity returns the row of c.
func (c Command) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(c.Device), RowKey: string(c.ID)}
	if c.Desired {
		e.RowKey = DesiredRow
		e.Set("ID", tables.String(string(c.ID)))
	}
	c.Who, c.Incident, c.By = shortened(c.Who), shortened(c.Incident), shortened(c.By)
	err := e.Encode(&c)
	_, errID := ParseCommandID(string(c.ID))
	_, errDevice := ParseDeviceID(string(c.Device))
	return e, cmp.Or(errID, errDevice, CheckCommandBody(c.Body), err)
}

// CommandOf decodes a command, or a desired configuration.
func CommandOf(e tables.Entity) (Command, error) {
	c := Command{Device: DeviceID(e.PartitionKey), ID: CommandID(e.RowKey), Desired: e.RowKey == DesiredRow, ETag: e.ETag}
	f := decode(&e, &c)
	if c.Desired {
		c.ID = CommandID(f.String("ID"))
	}
	_, err := ParseCommandID(string(c.ID))
	f.Fail("ID", err)
	return c, f.Err()
}

// CheckCommandBody returns why a text cannot be what a device is told.
func CheckCommandBody(body string) error {
	switch {
	case len(body) > MaxCommandBody:
		return fmt.Errorf("the JSON has %d bytes; at most %d are allowed", len(body), MaxCommandBody)
	case !jsontext.Value(body).IsValid():
		return fmt.Errorf("%s is not valid JSON; quote names and texts, as in {\"heater\": \"off\"}", tables.Quote(body))
	}
	return nil
}

// CheckCommandLife returns why a command cannot wait so long.
func CheckCommandLife(d time.Duration) error {
	if d < minCommandLife || d > MaxCommandLife {
		return fmt.Errorf("a command cannot wait for %s; want %s to %s", FormatDuration(d), FormatDuration(minCommandLife),
			FormatDuration(MaxCommandLife))
	}
	return nil
}

// CommandRows returns the row keys of the commands that were sent at a time or later, with their acknowledgements, and
// of the desired configuration.
func CommandRows(from tables.Ticks) tables.Keys {
	return tables.Keys{From: from.String(), To: DesiredRow}
}

// Rows returns the row keys of a command and its acknowledgements.
func (id CommandID) Rows() tables.Keys {
	return tables.Keys{From: string(id), Before: tables.KeysWithPrefix(string(id) + ackInfix).Before}
}
