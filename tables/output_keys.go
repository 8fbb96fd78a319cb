package tables

// A LatestPartition is a PartitionKey of the table latest: tenant!month.
type LatestPartition struct {
	Tenant Tenant
	Month  Month
}

func (p LatestPartition) String() string { return string(p.Tenant) + Separator + p.Month.String() }

// ParseLatestPartition reads what String writes.
func ParseLatestPartition(s string) (LatestPartition, error) {
	parts, err := split("partition of latest", s, 2)
	if err != nil {
		return LatestPartition{}, err
	}
	tenant, err := ParseTenant(parts[0])
	if err != nil {
		return LatestPartition{}, err
	}
	month, err := ParseMonth(parts[1])
	return LatestPartition{Tenant: tenant, Month: month}, err
}

// OfTenant are the PartitionKeys of latest that belong to one tenant.
func OfTenant(t Tenant) Keys { return prefixed(string(t) + Separator) }

// A RollupPartition is a PartitionKey of the table rollups:
// tenant!window!day!month.
type RollupPartition struct {
	Tenant Tenant
	Window Window
	Day    Day
	Month  Month
}

func (p RollupPartition) String() string { return p.day() + p.Month.String() }

func (p RollupPartition) day() string {
	return string(p.Tenant) + Separator + p.Window.String() + Separator + p.Day.String() + Separator
}

// TenantDay are the PartitionKeys of p's tenant, window and day, whatever month
// the devices are of.
func (p RollupPartition) TenantDay() Keys { return prefixed(p.day()) }

// TenantDays are the PartitionKeys of p's tenant and window from p.Day to last,
// both included.
func (p RollupPartition) TenantDays(last Day) Keys {
	from := p.day()
	p.Day = last
	return Keys{From: from, Before: prefixed(p.day()).Before}
}

// ParseRollupPartition reads what String writes.
func ParseRollupPartition(s string) (p RollupPartition, err error) {
	parts, err := split("partition of rollups", s, 4)
	if err != nil {
		return p, err
	}
	if p.Tenant, err = ParseTenant(parts[0]); err != nil {
		return p, err
	}
	if p.Window, err = ParseWindow(parts[1]); err != nil {
		return p, err
	}
	if p.Day, err = ParseDay(parts[2]); err != nil {
		return p, err
	}
	p.Month, err = ParseMonth(parts[3])
	return p, err
}

// A RollupRow is a RowKey of the table rollups: device!start of the bucket.
// Rows sort by device, then by time.
type RollupRow struct {
	Device DeviceID
	Bucket Ticks // where the bucket starts
}

func (r RollupRow) String() string { return string(r.Device) + Separator + r.Bucket.String() }

// ParseRollupRow reads what String writes.
func ParseRollupRow(s string) (r RollupRow, err error) {
	parts, err := split("row of rollups", s, 2)
	if err != nil {
		return r, err
	}
	if r.Device, err = ParseDeviceID(parts[0]); err != nil {
		return r, err
	}
	r.Bucket, err = ParseTicks(parts[1])
	return r, err
}

// Buckets are the RowKeys of rollups that belong to the devices from first to
// last, both included.
func Buckets(first, last DeviceID) Keys {
	return Keys{From: string(first) + Separator, Before: prefixed(string(last) + Separator).Before}
}
