package schema

import (
	"cmp"

	"furrow/tables"
)

// A Member is a row of the table fleet: that a device exists, with what a run
// needs to know of it.
type Member struct {
	Month      Month
	Device     DeviceID
	Tenant     Tenant
	Readings   string       // name of its readings table
	Enrollment EnrollmentID // empty: none is known
	Settings   string       // of its sensors, in JSON; empty when they are the pipeline's
	ETag       tables.ETag  // of what was read
}

// Member is what the fleet says of a device.
func (d Device) Member() Member {
	return Member{Month: d.Month, Device: d.ID, Tenant: d.Tenant, Readings: d.Readings, Enrollment: d.Enrollment}
}

// Entity is m as it is stored.
func (m Member) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Device)}
	e.Set("Tenant", tables.String(string(m.Tenant)))
	e.Set("Readings", tables.String(m.Readings))
	if m.Enrollment != "" {
		e.Set("Enrollment", tables.String(string(m.Enrollment)))
	}
	if m.Settings != "" {
		e.Set("Settings", tables.String(m.Settings))
	}
	return e, m.check()
}

// MemberOf is a row of the table fleet.
func MemberOf(e tables.Entity) (Member, error) {
	f := e.Fields()
	m := Member{
		Device: DeviceID(e.RowKey), Tenant: Tenant(f.String("Tenant")), Readings: f.String("Readings"),
		Enrollment: EnrollmentID(f.String("Enrollment")), Settings: f.String("Settings"), ETag: e.ETag,
	}
	var err error
	m.Month, err = ParseMonth(e.PartitionKey)
	f.Fail("PartitionKey", err)
	f.Fail("record", m.check())
	return m, f.Err()
}

func (m Member) check() error {
	_, errID := ParseDeviceID(string(m.Device))
	_, errTenant := ParseTenant(string(m.Tenant))
	return cmp.Or(m.Month.Check(), errID, errTenant, tables.CheckTable(m.Readings))
}
