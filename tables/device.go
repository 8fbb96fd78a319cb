package tables

import (
	"cmp"

	"github.com/go-json-experiment/json"
)

// DeviceRow is the RowKey of a device's record, of which it has one.
const DeviceRow = "device"

// A Device is the record of a device: who it is. It exists before its fleet
// row, and that before its first token.
type Device struct {
	ID         DeviceID
	Month      Month // fixed when the record is inserted
	Tenant     Tenant
	Site       Site      // may be empty
	Position   *Position // nil when it is not known
	Labels     map[string]string
	Readings   string // name of its readings table
	Enrollment EnrollmentID
	Status     Status
	Change     int64   // number of the change of policies that set Status last; zero where none did
	Tokens     []Token // the last few, oldest first
	ETag       ETag    // of what was read
}

// A Position is in degrees, as in WGS 84.
type Position struct{ Lat, Lon float64 }

// A Status says whether a device may have tokens.
type Status string

const (
	Active  Status = "active"
	Revoked Status = "revoked"
)

// A Token is what is kept of a token that was issued: enough to know which
// policy it hangs on and what it admits, never its signature.
type Token struct {
	Policy      string `json:"policy"`
	From        Ticks  `json:"from"` // the earliest row key that it admits
	To          Ticks  `json:"to"`   // the latest
	Expiry      Ticks  `json:"expiry"`
	Fingerprint string `json:"fingerprint"`
}

// Entity is d as it is stored.
func (d Device) Entity() (Entity, error) {
	e := Entity{PartitionKey: string(d.ID), RowKey: DeviceRow}
	for _, p := range []Property{
		{"Month", String(d.Month.String())}, {"Tenant", String(string(d.Tenant))}, {"Site", String(string(d.Site))},
		{"Readings", String(d.Readings)}, {"Enrollment", String(string(d.Enrollment))}, {"Status", String(string(d.Status))},
	} {
		if p.Value.Text() != "" {
			e.Properties = append(e.Properties, p)
		}
	}
	if d.Position != nil {
		e.Set("Lat", Double(d.Position.Lat))
		e.Set("Lon", Double(d.Position.Lon))
	}
	if d.Change != 0 {
		e.Set("Change", Int64(d.Change))
	}
	labels, errLabels := packed(d.Labels, len(d.Labels))
	tokens, errTokens := packed(d.Tokens, len(d.Tokens))
	e.Set("Labels", labels)
	e.Set("Tokens", tokens)
	return e, cmp.Or(d.check(), errLabels, errTokens)
}

// packed is a value as a small JSON text, or none where there is nothing to
// pack. Maps are written in the order of their keys.
func packed(v any, n int) (Value, error) {
	if n == 0 {
		return Value{}, nil
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	return String(string(text)), err
}

// DeviceOf is a row of the table devices.
func DeviceOf(e Entity) (Device, error) {
	f := e.Fields()
	d := Device{
		ID: DeviceID(e.PartitionKey), Tenant: Tenant(f.String("Tenant")), Site: Site(f.String("Site")),
		Readings: f.String("Readings"), Enrollment: EnrollmentID(f.String("Enrollment")), Status: Status(f.String("Status")), Change: f.Int("Change"), ETag: e.ETag,
	}
	if e.Get("Lat") != (Value{}) && e.Get("Lon") != (Value{}) {
		d.Position = &Position{Lat: f.Float("Lat"), Lon: f.Float("Lon")}
	}
	var err error
	d.Month, err = ParseMonth(f.String("Month"))
	f.Fail("property Month", err)
	f.unpack("Labels", &d.Labels)
	f.unpack("Tokens", &d.Tokens)
	f.Fail("record", d.check())
	return d, f.Err()
}

// unpack reads a property that packed wrote.
func (f *Fields) unpack(name string, to any) {
	if text := f.String(name); text != "" {
		f.Fail("property "+name, json.Unmarshal([]byte(text), to))
	}
}

// check holds what others build keys of.
func (d Device) check() error {
	_, errID := ParseDeviceID(string(d.ID))
	_, errTenant := ParseTenant(string(d.Tenant))
	var errSite error
	if d.Site != "" {
		_, errSite = ParseSite(string(d.Site))
	}
	return cmp.Or(errID, errTenant, errSite, d.Month.Check(), CheckTable(d.Readings))
}
