package schema

import (
	"cmp"
	"slices"

	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// DeviceRow is the RowKey of a device's only record.
const DeviceRow = "device"

// A Device is the record of a device. It is inserted before the device's membership, which
// is inserted before its first token is issued.
type Device struct {
	ID         DeviceID
	Month      Month             `row:"Month"` // fixed when the record is inserted
	Tenant     Tenant            `row:"Tenant,omitzero"`
	Site       Site              `row:"Site,omitzero"` // may be empty
	Position   *Position         // nil if unknown
	Labels     map[string]string `row:"Labels,omitzero"`
	Model      string            `row:"Model,omitzero"`    // that its owner states; empty: the first that matches
	Readings   string            `row:"Readings,omitzero"` // name of its readings table
	Enrollment EnrollmentID      `row:"Enrollment,omitzero"`
	Status     Status            `row:"Status,omitzero"`
	// Former are the tenants that the device has belonged to, the oldest first, perhaps with its current one. If there are
	// any, only its memberships say when it belonged to which.
	Former []Tenant `row:"Former,omitzero"`
	Kept   Kept     // of its memberships, while it is not in the fleet
	Change int64    `row:"Change,omitzero"` // number of the change of policies that set Status last, or 0
	Tokens []Token  `row:"Tokens,omitzero"` // the last few, oldest first
	// Noted is the Awake that its membership has at least: until when tokens let the device write. It is written after
	// that one.
	Noted tables.Ticks `row:"Noted,int64,omitzero"`
	// NotedIn is the version of its membership that the last note made or found: its Awake is Noted, and it agrees with
	// the record. Whoever changes the record otherwise takes it away.
	NotedIn tables.ETag `row:"NotedIn,omitzero"`
	ETag    tables.ETag // of the version that was read
}

// A Position is in degrees, as in WGS 84.
type Position struct{ Lat, Lon float64 }

// A Status determines whether a device gets tokens.
type Status string

const (
	Active  Status = "active"
	Revoked Status = "revoked"

	Removing Status = "removing" // it is being removed
	Removed  Status = "removed"  // it left the fleet, its data is kept, and it may register again
	Erased   Status = "erased"   // removed, and its data is gone
)

// Left reports whether a device with the status is no longer part of the fleet.
func (s Status) Left() bool { return s == Removing || s == Removed || s == Erased }

// MayRegister reports whether a device with the status can register again as a new one.
func (s Status) MayRegister() bool { return s == Removed || s == Erased }

// A Token is the record of an issued token: its policy and the rows that it admits, but
// never its signature.
type Token struct {
	Policy      string       `json:"policy"` // empty: no revocation ends it
	From        tables.Ticks `json:"from"`   // the earliest row key that it admits
	To          tables.Ticks `json:"to"`     // the latest
	Expiry      tables.Ticks `json:"expiry"`
	Fingerprint string       `json:"fingerprint"`
	// Commands is the policy of the token for commands that was issued with it. Without one it is that of the device's
	// last token for commands.
	Commands string `json:"commands,omitzero"`
}

// Entity returns the row of d.
func (d Device) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(d.ID), RowKey: DeviceRow}
	err := cmp.Or(e.Encode(&d), d.Kept.set(&e))
	if d.Position != nil {
		e.Set("Lat", tables.Double(d.Position.Lat))
		e.Set("Lon", tables.Double(d.Position.Lon))
	}
	return e, cmp.Or(d.check(), err)
}

// setNonzero sets a property unless its value is an empty text, zero, or the zero time.
func setNonzero(e *tables.Entity, name string, v tables.Value) {
	if v != tables.String("") && v != tables.DateTime(0) && v != tables.Int64(0) {
		e.Set(name, v)
	}
}

// DeviceSummary lists the properties of a record without the tokens, which are most of it, and their note.
func DeviceSummary() []string {
	all := append(tables.Columns[Device](), FormatProperty, "Lat", "Lon")
	return slices.DeleteFunc(all, func(name string) bool { return name == "Tokens" || name == "NotedIn" })
}

// packed returns a value as JSON, or no value if n is 0. Maps are sorted by key.
func packed(v any, n int) (tables.Value, error) {
	if n == 0 {
		return tables.Value{}, nil
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	return tables.String(string(text)), err
}

// DeviceOf decodes a row of the table devices.
func DeviceOf(e tables.Entity) (Device, error) {
	d := Device{ID: DeviceID(e.PartitionKey), ETag: e.ETag}
	f := decode(&e, &d)
	if e.Get("Lat") != (tables.Value{}) && e.Get("Lon") != (tables.Value{}) {
		d.Position = &Position{Lat: f.Float("Lat"), Lon: f.Float("Lon")}
	}
	d.Kept.unpack(f)
	f.Fail("record", d.check())
	return d, f.Err()
}

// unpack decodes a property that packed encoded.
func unpack(f *tables.Fields, name string, to any) {
	if text := f.String(name); text != "" {
		f.Fail("property "+name, json.Unmarshal([]byte(text), to))
	}
}

// check checks the properties from which keys are formed.
func (d Device) check() error {
	_, errID := ParseDeviceID(string(d.ID))
	_, errTenant := ParseTenant(string(d.Tenant))
	var errSite error
	if d.Site != "" {
		_, errSite = ParseSite(string(d.Site))
	}
	var errModel error
	if d.Model != "" {
		_, errModel = ParseModel(d.Model)
	}
	return cmp.Or(errID, errTenant, errSite, errModel, d.Month.Check(), tables.CheckTable(d.Readings))
}
