package answers

import (
	"cmp"
	"encoding/json"
	"time"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// A Record is a device's record.
type Record struct {
	Device     string `json:"device" column:"device"`
	Month      string `json:"month" column:"month"`
	Tenant     string `json:"tenant" column:"tenant"`
	Site       string `json:"site,omitempty" column:"site"`
	Enrollment string `json:"enrollment,omitempty" column:"enrollment"`
	// A device that has moved belongs to another tenant now. Its former tenant sees what is of its time.
	Status   string            `json:"status" column:"status" enum:"active revoked moved"`
	Lat      *float64          `json:"lat,omitempty" column:"lat"`
	Lon      *float64          `json:"lon,omitempty" column:"lon"`
	Labels   map[string]string `json:"labels,omitempty" column:"labels"`
	Model    string            `json:"model,omitempty"` // model that the device states
	Readings string            `json:"readings"`        // its readings table
	// what furrow device add did
	Outcome string `json:"outcome,omitempty"`
	// when the device moved to another tenant; absent while it belongs to the tenant
	Until *time.Time `json:"until,omitempty"`
	// whether the device has a row in the fleet table, so that runs find it
	InFleet *bool   `json:"inFleet,omitempty"`
	Tokens  []Token `json:"tokens,omitempty"`
	// those that have begun with it, in furrow device show
	Pipelines []DeviceTrack `json:"pipelines,omitempty"`
}

// A Token was issued to a device.
type Token struct {
	Policy      string    `json:"policy"` // empty with --revocation at-expiry: no revocation ends it
	From        time.Time `json:"from"`   // the earliest row that it allows
	To          time.Time `json:"to"`
	Expires     time.Time `json:"expires"`
	Ended       bool      `json:"ended"` // whether a revocation ended it: of the device, or of another one of its cohort
	Fingerprint string    `json:"fingerprint"`
}

// A DeviceTrack is how far a pipeline has got with a device.
type DeviceTrack struct {
	Pipeline     string  `json:"pipeline"`
	Checkpoint   string  `json:"checkpoint"` // rows up to this row key are folded
	Rows         int64   `json:"rows"`       // since the beginning
	Late         int64   `json:"late"`
	BatchRows    int64   `json:"batchRows"`    // rows that the last job with rows has folded
	BatchSeconds float64 `json:"batchSeconds"` // time to read and to fold them
	Rest         *Rest   `json:"rest,omitempty"`
}

// A Rest is why runs do not look at a device, as the last job that folded it has found.
type Rest struct {
	Why   string     `json:"why"`             // asleep: it has no token; expected: its next reading is not due yet
	Until *time.Time `json:"until,omitempty"` // if nothing changes; absent: until it gets a token
}

// RestOf returns why runs do not look at a device now, or nil where the next one does.
func RestOf(t schema.Track, m schema.Member) *Rest {
	r, until := Rest{Why: "expected"}, min(t.Rest.Expected, t.Rest.Next)
	if t.Rest.Until != 0 {
		r.Why, until = "asleep", t.Rest.Next
	}
	if t.Rest.Of == 0 || t.Rest.Until != 0 && t.Rest.Until != m.Awake {
		return nil
	}
	if until != tables.MaxTicks {
		r.Until = new(until.Time())
	}
	return &r
}

// String says it to people.
func (r Rest) String() string {
	switch {
	case r.Until == nil:
		return "rests until it gets a token"
	case r.Why == "asleep":
		return "rests until it gets a token, or something is due at " + r.Until.UTC().Format(time.RFC3339)
	}
	return "rests until its next reading, expected at " + r.Until.UTC().Format(time.RFC3339)
}

// RecordOf returns the record of a device as lists have it.
func RecordOf(d schema.Device) Record {
	r := Record{Device: string(d.ID), Month: d.Month.String(), Tenant: string(d.Tenant), Site: string(d.Site),
		Enrollment: string(d.Enrollment), Status: string(cmp.Or(d.Status, schema.Active)), Labels: d.Labels, Model: d.Model,
		Readings: d.Readings}
	if d.Position != nil {
		r.Lat, r.Lon = &d.Position.Lat, &d.Position.Lon
	}
	return r
}

// TokensOf returns the tokens of a device. The policies of its readings table say which have ended; nil: they are not
// known, or there are none.
func TokensOf(d schema.Device, policies *schema.Policies) (all []Token) {
	for _, t := range d.Tokens {
		all = append(all, Token{Policy: t.Policy, From: t.From.Time(), To: t.To.Time(), Expires: t.Expiry.Time(),
			Ended: policies != nil && policies.Ended(t), Fingerprint: t.Fingerprint})
	}
	return all
}

// A Command is what a device is told to do, or the configuration that it is to have.
type Command struct {
	Sent time.Time `json:"sent" column:"sent"` // when it was sent
	// queued, received, succeeded, failed, canceled or expired
	State    string    `json:"state" column:"state" enum:"queued received succeeded failed canceled expired"`
	Body     any       `json:"body" column:"body"`                // JSON that the device gets
	Result   any       `json:"result,omitempty" column:"result"`  // JSON that the device told
	Expires  time.Time `json:"expires,omitzero" column:"expires"` // without it never
	Who      string    `json:"who,omitempty" column:"who"`        // who sent it
	ID       string    `json:"id" column:"id"`                    // its ID, which the device acknowledges
	Device   string    `json:"device"`
	Incident string    `json:"incident,omitempty"` // incident for which a rule sent it
	Answered time.Time `json:"answered,omitzero"`  // when the device acknowledged it last
	Canceled time.Time `json:"canceled,omitzero"`  // when it was canceled
	By       string    `json:"by,omitempty"`       // who canceled it
}

// CommandOf returns a command at a time of storage.
func CommandOf(c commands.Command, now tables.Ticks) Command {
	one := Command{Device: string(c.Device), ID: string(c.ID), State: c.State(now), Body: json.RawMessage(c.Body),
		Sent: c.ID.Sent().Time(), Who: c.Who, Incident: c.Incident, By: c.By, Canceled: timeOfTicks(c.Canceled)}
	if !c.Desired {
		one.Expires = c.Expires.Time()
	}
	if last := c.Last(); last != nil {
		one.Answered = last.Row.Ticks.Time()
		if last.Result != "" {
			one.Result = json.RawMessage(last.Result)
		}
	}
	return one
}
