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
	Devices int64
}

const tenantDevicesPartition = Separator + "devices"

// TenantDevicesIn returns the range of the rows from a day to another, both inclusive.
func TenantDevicesIn(from, to Day) tables.Range {
	return tables.Range{Partitions: tables.Is(tenantDevicesPartition),
		Rows: tables.Keys{From: from.String(), Before: tables.KeysWithPrefix(to.String() + Separator).Before}}
}

// Entity returns the row of d.
func (d TenantDevices) Entity() tables.Entity {
	tenant := ""
	if d.Tenant != "" {
		tenant = d.Tenant.Key()
	}
	e := tables.Entity{PartitionKey: tenantDevicesPartition, RowKey: d.Day.String() + Separator + tenant}
	e.Set("Devices", tables.Int64(d.Devices))
	return e
}

// TenantDevicesOf decodes a row of TenantDevicesIn.
func TenantDevicesOf(e tables.Entity) (TenantDevices, error) {
	f := fieldsOf(&e)
	d := TenantDevices{Devices: f.Int("Devices")}
	day, tenant, _ := strings.Cut(e.RowKey, Separator)
	var err error
	d.Day, err = ParseDay(day)
	f.Fail("RowKey", err)
	if tenant != "" {
		d.Tenant, err = ParseTenantKey(tenant)
		f.Fail("RowKey", err)
	}
	return d, f.Err()
}
