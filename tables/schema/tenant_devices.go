package schema

import (
	"strings"

	"furrow/tables"
)

// TenantDevices is a row of the table runs, !devices and day!tenant: how many devices of the fleet belonged to a tenant
// when the scheduler counted them, once a day. The row without a tenant is written last, and has their sum.
type TenantDevices struct {
	Day     Day
	Tenant  Tenant // empty: the sum
	Devices int64  `row:"Devices"`
}

const tenantDevicesPartition = Separator + "devices"

// TenantDevicesIn returns the range of the rows from a day to another, both inclusive.
func TenantDevicesIn(from, to Day) tables.Range {
	return tables.Range{Partitions: tables.Is(tenantDevicesPartition),
		Rows: tables.Keys{From: from.String(), Before: tables.KeysWithPrefix(to.String() + Separator).Before}}
}

// Entity returns the row of d.
func (d TenantDevices) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: tenantDevicesPartition, RowKey: dayOfTenant(d.Day, d.Tenant)}
	_ = e.Encode(&d) // numbers
	return e
}

// TenantDevicesOf decodes a row of TenantDevicesIn.
func TenantDevicesOf(e tables.Entity) (TenantDevices, error) {
	var d TenantDevices
	f := decode(&e, &d)
	d.Day, d.Tenant = dayAndTenant(f, e.RowKey)
	return d, f.Err()
}

// dayOfTenant returns the key of a row about a day and a tenant, or without one about all.
func dayOfTenant(day Day, t Tenant) string {
	if t == "" {
		return day.String() + Separator
	}
	return day.String() + Separator + t.Key()
}

// dayAndTenant is the reverse of dayOfTenant.
func dayAndTenant(f *tables.Fields, rowKey string) (day Day, t Tenant) {
	text, tenant, _ := strings.Cut(rowKey, Separator)
	if tenant != "" {
		t = parsed(f, "RowKey", tenant, ParseTenantKey)
	}
	return parsed(f, "RowKey", text, ParseDay), t
}
