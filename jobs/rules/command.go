package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/tables/schema"
)

// A Command is what a rule tells a device when an incident opens or closes.
type Command struct {
	On string `yaml:"on,required" is:"word" want:"open or close"` // OnOpen or OnClose
	// Body is JSON.
	Body string        `yaml:"body,required" is:"json" want:"what the device is to be told, such as {heater: \"off\"}"`
	TTL  time.Duration `yaml:"ttl" least:"1s" most:"7d" default:"1h"`
}

// When a rule sends its command.
const (
	OnOpen  = "open"
	OnClose = "close"
)

func (c *Command) check() error {
	if c.On != OnOpen && c.On != OnClose {
		return fmt.Errorf("command: on: %q; want open or close", c.On)
	}
	if err := schema.CheckCommandLife(c.TTL); err != nil {
		return fmt.Errorf("command: ttl: %w", err)
	}
	if err := schema.CheckCommandBody(c.Body); err != nil {
		return fmt.Errorf("command: body: %w", err)
	}
	return nil
}

// command returns what has to be done for the command of a transition's rule; nil if it has none. None goes out for
// history, not even for the closing of an incident that somebody was told of: it may hold again by now. None goes out
// where an incident is closed by Leave: the device is another tenant's or gone, or nobody knows whether the rule holds.
// The ID follows from the transition, so that it is sent once.
func (f *Fold) command(t schema.Transition) (*fold.Effect, error) {
	r := f.rule(t.ID.Rule)
	if r == nil || r.Command == nil || !t.Notify || t.Opens() != (r.Command.On == OnOpen) {
		return nil, nil
	}
	switch t.Reason {
	case "", reasonLate, reasonNext, reasonChanged, reasonMatch:
	default:
		return nil, nil
	}
	if !t.Opens() && t.At < t.Found-history {
		return nil, nil
	}
	told := r.Command
	sum := sha256.Sum256(fmt.Appendf(nil, "%s!%d", t.ID, t.Number))
	c := schema.Command{Device: t.ID.Device, ID: schema.NewCommandID(t.Found, hex.EncodeToString(sum[:8])),
		Body: told.Body, Expires: t.Found.Add(told.TTL), Who: "rule " + string(t.ID.Rule), Incident: t.ID.String()}
	note := schema.Note{ID: fmt.Sprint("command-", t.Number), What: schema.Noted, Number: t.Number, At: t.Found,
		Who:  c.Who,
		Text: fmt.Sprintf("its command was not sent, because %d commands wait for the device", schema.MaxCommands)}
	e, err := note.Entity(t.Home, t.ID)
	return &fold.Effect{Command: &c, Properties: e.Properties,
		Output: fold.Output{Table: Table, PartitionKey: e.PartitionKey, RowKey: e.RowKey}}, err
}
