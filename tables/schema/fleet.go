package schema

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"furrow/tables"
)

// A Member is a membership, a row of the table fleet: a device belongs to a tenant. It has
// everything that planning and folding need to know about the device, so that no job reads
// the device's record.
type Member struct {
	Month      Month
	Tenant     Tenant
	Device     DeviceID
	Spans      Spans             `row:"Spans,omitzero"`      // when it belongs to the tenant; none: always
	Next       Tenant            `row:"Next,omitzero"`       // owner after the last span; empty while that is open
	Readings   string            `row:"Readings"`            // name of its readings table
	Enrollment EnrollmentID      `row:"Enrollment,omitzero"` // empty if unknown
	Site       Site              `row:"Site,omitzero"`       // may be empty
	Labels     map[string]string `row:"Labels,omitzero"`     // may be nil
	Placements []Placement       `row:"Placements,omitzero"` // where it was before, in the order of time
	Model      string            `row:"Model,omitzero"`      // that its owner states; empty: the first that matches
	Revoked    bool              `row:"Revoked,omitzero"`    // it gets no token, so nothing is expected of it
	Imports    Imports           `row:"Imports,omitzero"`    // of rows into its past
	// Watermark is the time below which rows may be gone: retention raises it before it deletes rows below it. Nothing
	// folds, counts or imports a row below it any more.
	Watermark tables.Ticks `row:"Watermark,int64,omitzero"`
	// Admits is how old a row may be when it is stored with a token of the device, if that may be more than retention
	// keeps; else zero. It is written before such a token is issued, so that retention, which raises Watermark on the
	// version of the row that it has read, knows of the token, or the token of the watermark.
	Admits time.Duration `row:"Admits,omitzero"`
	// Awake is until when tokens let the device write. It is written before such a token is issued. Zero: nobody knows,
	// and every run looks at the device.
	Awake   tables.Ticks `row:"Awake,int64,omitzero"`
	Written tables.Ticks // when storage wrote the version that was read
	ETag    tables.ETag  // of that version
}

// NeverAwake is the Awake of a device that was registered without a token, until it gets its first one.
const NeverAwake tables.Ticks = 1

// MemberWatermark is the property of a membership, and of a row of a tracking table, that holds a watermark.
const MemberWatermark = "Watermark"

// A MemberKey is the RowKey of a membership, and of its rows in the tracking tables:
// tenant!device. Rows of a partition are in the order of tenants, so that the devices
// of a batch nearly always share one, and their outputs share transactions.
type MemberKey string

// Key returns the RowKey of m.
func (m Member) Key() MemberKey { return MemberKey(m.Tenant.Key() + Separator + string(m.Device)) }

// Device returns the device of a valid key.
func (k MemberKey) Device() DeviceID { return DeviceID(k[strings.Index(string(k), Separator)+1:]) }

// Tenant returns the tenant of a valid key.
func (k MemberKey) Tenant() Tenant {
	tenant, _ := ParseTenantKey(string(k[:strings.Index(string(k), Separator)]))
	return tenant
}

// MembersOf returns the RowKeys of the members of a tenant.
func MembersOf(t Tenant) tables.Keys { return tables.KeysWithPrefix(t.Key() + Separator) }

// MembersAt returns the filter for the members at a site.
func MembersAt(s Site) string { return "Site eq " + tables.Literal(string(s)) }

// ParseMemberKey parses the result of Member.Key.
func ParseMemberKey(s string) (MemberKey, error) {
	parts, err := split("row of fleet", s, 2)
	if err != nil {
		return "", err
	}
	_, errTenant := ParseTenantKey(parts[0])
	_, errID := ParseDeviceID(parts[1])
	return MemberKey(s), cmp.Or(errTenant, errID)
}

// Member returns the membership of a device for its tenant, without what only the fleet knows: its spans and earlier
// placements, its watermark and imports. If the device has left the fleet, it has the spans that were kept.
func (d Device) Member() Member {
	if d.Status.Left() {
		return d.Of(d.Tenant)
	}
	d.Kept = Kept{}
	return d.Of(d.Tenant)
}

// Agrees reports whether m and o are equal apart from their spans, placements, imports, watermarks, Admits, Awake and
// ETags.
func (m Member) Agrees(o Member) bool {
	return m.Key() == o.Key() && m.Month == o.Month && m.Readings == o.Readings && m.Enrollment == o.Enrollment &&
		m.Site == o.Site && m.Model == o.Model && m.Revoked == o.Revoked &&
		maps.Equal(m.Labels, o.Labels)
}

// Entity returns the row of m.
func (m Member) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	err := e.Encode(&m)
	return e, cmp.Or(m.check(), err)
}

// Admitting returns the part of the row of m that says that a row so old may be stored.
func (m Member) Admitting(age time.Duration) tables.Entity {
	return m.with("Admits", int64(age/time.Second))
}

// Waking returns the part of the row of m that says until when the device may write.
func (m Member) Waking(until tables.Ticks) tables.Entity { return m.with("Awake", int64(until)) }

func (m Member) with(property string, n int64) tables.Entity {
	return tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key()),
		Properties: []tables.Property{{Name: property, Value: tables.Int64(n)}}}
}

// MemberOf decodes a row of the table fleet.
func MemberOf(e tables.Entity) (Member, error) {
	tenant, device, _ := strings.Cut(e.RowKey, Separator)
	m := Member{Device: DeviceID(device), Written: e.Timestamp, ETag: e.ETag}
	f := decode(&e, &m)
	m.Month = parsed(f, "PartitionKey", e.PartitionKey, ParseMonth)
	m.Tenant = parsed(f, "RowKey", tenant, ParseTenantKey)
	f.Fail("record", m.check())
	return m, f.Err()
}

func (m Member) check() error {
	_, errID := ParseDeviceID(string(m.Device))
	_, errTenant := ParseTenant(string(m.Tenant))
	return cmp.Or(m.Month.Check(), errID, errTenant, m.Spans.check(), tables.CheckTable(m.Readings))
}
