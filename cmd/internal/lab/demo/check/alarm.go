package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Alarm is a rule that watches one device, with what its webhook and the device were told. An incident opens with
// the first value above a limit, and closes with the first that is below another one. The rule sends a command with
// each opening.
type Alarm struct {
	Device       schema.DeviceID
	Rule         schema.Rule
	Sensor       string
	Above, Below float64
	Command      string // JSON
	Webhook      *Webhook
	Obeyed       []string // IDs of the commands that the device was told
}

// alarm compares the incidents of the alarm's device, its notifications and its commands with the device's readings.
func (c *checker) alarm(ctx context.Context) error {
	if c.Alarm == nil {
		return nil
	}
	want, acks, err := c.wantedIncidents(ctx)
	if err != nil {
		return err
	}
	got, err := c.storedIncidents(ctx)
	if err != nil {
		return err
	}
	c.found.Alarms = len(got)
	c.compareTexts(c.Names.Output("incidents"), got, want)
	c.compareTexts("webhook", c.told(), want)
	if n := c.Alarm.Webhook.Refused(); n > 0 {
		c.differ("webhook", fmt.Sprint(n, " messages with a wrong signature"), "none")
	}
	return c.compareCommands(ctx, acks, (len(want)+1)/2)
}

func (c *checker) differ(table, is, want string) {
	c.found.differ(Difference{Table: table, Device: c.Alarm.Device, Is: is, Want: want})
}

// compareTexts compares two lists in their order.
func (c *checker) compareTexts(table string, got, want []string) {
	for i := range max(len(got), len(want)) {
		is, should := "absent", "absent"
		if i < len(got) {
			is = got[i]
		}
		if i < len(want) {
			should = want[i]
		}
		if is != should {
			c.differ(table, is, should)
		}
	}
}

// changed describes the change of an incident.
func changed(what string, at time.Time, value string) string {
	if what == "opened" {
		what += " by " + value
	}
	return what + " at " + at.UTC().Format(time.RFC3339Nano)
}

// wantedIncidents returns how the device's readings open and close incidents, and how often each command has
// succeeded, as they say.
func (c *checker) wantedIncidents(ctx context.Context) (want []string, succeeded map[string]int, err error) {
	a, open := c.Alarm, false
	succeeded = map[string]int{}
	q := tables.Query{Range: tables.Partition(string(a.Device))}
	for e, err := range c.Client.Table(c.Names.Readings()).Entities(ctx, q) {
		if err != nil {
			return nil, nil, err
		}
		var ack struct{ ID, State string }
		if json.Unmarshal([]byte(e.Get(schema.AckProperty).Text()), &ack) == nil && ack.State == "succeeded" {
			succeeded[ack.ID]++
		}
		at, v := tables.TicksBefore(e.RowKey).Time(), e.Get(a.Sensor)
		switch {
		case v.Type() == tables.TypeNone:
		case !open && v.Float() > a.Above:
			open, want = true, append(want, changed("opened", at, numberText(v.Float())))
		case open && v.Float() < a.Below:
			open, want = false, append(want, changed("closed", at, numberText(v.Float())))
		}
	}
	return want, succeeded, nil
}

// storedIncidents returns the changes of the device's incidents that the jobs have written, the oldest first.
func (c *checker) storedIncidents(ctx context.Context) ([]string, error) {
	byTime := map[int64]string{}
	q := tables.Query{Filter: "Device eq " + tables.Literal(string(c.Alarm.Device))}
	for e, err := range c.Client.Table(c.Names.Output("incidents")).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		at, said := e.Get("At").Int(), changed(e.Get("What").Text(), tables.Ticks(e.Get("At").Int()).Time(),
			e.Get("Value").Text())
		switch kind := e.RowKey[strings.LastIndexByte(e.RowKey, '!')+1:]; {
		case strings.HasSuffix(e.PartitionKey, "!open"):
			c.differ(c.Names.Output("incidents"), "listed as open: "+said, "closed")
		case !strings.HasPrefix(kind, "t"): // a note, or what became of a notification
		case byTime[at] != "" || e.Get("Rule").Text() != string(c.Alarm.Rule):
			c.differ(c.Names.Output("incidents"), e.Get("Rule").Text()+" "+said, "absent")
		default:
			byTime[at] = said
		}
	}
	var got []string
	for _, at := range slices.Sorted(maps.Keys(byTime)) {
		got = append(got, byTime[at])
	}
	return got, nil
}

// told returns what the webhook was told of the device.
func (c *checker) told() (got []string) {
	for _, t := range c.Alarm.Webhook.Told() {
		said := changed(t.What, t.At, t.Value)
		if t.Rule != c.Alarm.Rule || t.Device != c.Alarm.Device {
			said = fmt.Sprintf("%s of %s: %s", t.Rule, t.Device, said)
		}
		got = append(got, said)
	}
	return got
}

// compareCommands compares the device's commands with what it was told and has acknowledged.
func (c *checker) compareCommands(ctx context.Context, succeeded map[string]int, want int) error {
	table := c.Names.Commands()
	sent := 0
	acks := map[string]int{}
	q := tables.Query{Range: tables.Partition(string(c.Alarm.Device))}
	for e, err := range c.Client.Table(table).Entities(ctx, q) {
		if err != nil {
			return err
		}
		id, _, isAck := strings.Cut(e.RowKey, "!ack!")
		switch {
		case strings.HasPrefix(id, "!"): // the counter
		case isAck && e.Get("State").Text() == "succeeded":
			acks[id]++
		case isAck:
		case e.Get("Body").Text() != c.Alarm.Command || !slices.Contains(c.Alarm.Obeyed, id):
			c.differ(table, "command "+id+": "+e.Get("Body").Text(), c.Alarm.Command+", obeyed by the device")
		default:
			sent++
		}
	}
	for id := range succeeded {
		if acks[id] != succeeded[id] {
			c.differ(table, fmt.Sprintf("%d acknowledgements of %s", acks[id], id), fmt.Sprint(succeeded[id]))
		}
	}
	if n := len(c.Alarm.Obeyed); sent != want || n != want || len(acks) != want {
		c.differ(table, fmt.Sprintf("%d commands, %d obeyed, %d acknowledged", sent, n, len(acks)), fmt.Sprint(want))
	}
	return nil
}
