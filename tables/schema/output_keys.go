package schema

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// A LatestPartition is a PartitionKey of the table latest: tenant!month.
type LatestPartition struct {
	Tenant Tenant
	Month  Month
}

func (p LatestPartition) String() string { return p.Tenant.Key() + Separator + p.Month.String() }

// ParseLatestPartition parses the result of String.
func ParseLatestPartition(s string) (p LatestPartition, err error) {
	parts, err := split("partition of latest", s, 2)
	if err != nil {
		return p, err
	}
	err = cmp.Or(into(&p.Tenant, parts[0], ParseTenantKey), into(&p.Month, parts[1], ParseMonth))
	return p, err
}

// OfTenant returns the PartitionKeys of a tenant in a table of outputs.
func OfTenant(t Tenant) tables.Keys { return tables.KeysWithPrefix(t.Key() + Separator) }

// LatestOfTenant returns the PartitionKeys of a tenant in a table where all have the form of LatestPartition.
func LatestOfTenant(t Tenant) []tables.Keys { return []tables.Keys{OfTenant(t)} }

// NewestRatesOfTenant returns those with the form of LatestPartition in the table of rates. The partitions of its
// buckets sort among them, as their windows begin with a digit and go on with a letter:
//
//	tenant!1999-12   tenant!1d!2026-11-20!…   tenant!1h!2026-11-20!…   tenant!2000-01
func NewestRatesOfTenant(t Tenant) []tables.Keys {
	all, prefix := OfTenant(t), t.Key()+Separator
	return []tables.Keys{{From: prefix, Before: prefix + "1:"}, {From: prefix + "2", Before: all.Before}} // : follows 9
}

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
	return p.Tenant.Key() + Separator + p.Window.String() + Separator + p.Day.String() + Separator
}

// TenantDays returns the PartitionKeys of p's tenant and window from p.Day to last, inclusive.
func (p RollupPartition) TenantDays(last Day) tables.Keys {
	from := p.day()
	p.Day = last
	return tables.Keys{From: from, Before: tables.KeysWithPrefix(p.day()).Before}
}

// ParseRollupPartition parses the result of String.
func ParseRollupPartition(s string) (p RollupPartition, err error) {
	parts, err := split("partition of rollups", s, 4)
	if err != nil {
		return p, err
	}
	err = cmp.Or(into(&p.Tenant, parts[0], ParseTenantKey), into(&p.Window, parts[1], ParseWindow),
		into(&p.Day, parts[2], ParseDay), into(&p.Month, parts[3], ParseMonth))
	return p, err
}

// A RollupRow is a RowKey of the table rollups: device!start of the bucket, and from the
// second part of an output on the number of the part. Rows sort by device, then by time.
type RollupRow struct {
	Device DeviceID
	Bucket tables.Ticks // start of the bucket
	Part   int          // 0 is the first, 2 the second
}

func (r RollupRow) String() string {
	return PartKey(string(r.Device)+Separator+r.Bucket.String(), r.Part)
}

// ParseRollupRow parses the result of String.
func ParseRollupRow(s string) (r RollupRow, err error) {
	parts, part, err := splitRow("row of rollups", s, 2)
	if err != nil {
		return r, err
	}
	r.Part = part
	err = cmp.Or(into(&r.Device, parts[0], ParseDeviceID), into(&r.Bucket, parts[1], tables.ParseTicks))
	return r, err
}

// Buckets returns the RowKeys of rollups of the devices from first to last, inclusive.
func Buckets(first, last DeviceID) tables.Keys {
	return tables.Keys{From: string(first) + Separator, Before: tables.KeysWithPrefix(string(last) + Separator).Before}
}

// PartKey returns the RowKey of a part of an output, counted from 1: the output's RowKey,
// followed by the number from the second part on. An output's parts sort together.
func PartKey(rowKey string, part int) string {
	if part < 2 {
		return rowKey
	}
	return rowKey + Separator + strconv.Itoa(part)
}

// splitRow splits a RowKey of so many parts, and the number of a part of an output that may follow.
func splitRow(what, s string, n int) (parts []string, part int, err error) {
	rowKey, part, err := splitPart(s, n)
	if err != nil {
		return nil, 0, err
	}
	parts, err = split(what, rowKey, n)
	return parts, part, err
}

// splitPart splits the number of a part from a RowKey that has the given number of parts
// without it.
func splitPart(s string, parts int) (rowKey string, part int, err error) {
	if strings.Count(s, Separator) < parts {
		return s, 0, nil
	}
	i := strings.LastIndex(s, Separator)
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 2 || PartKey(s[:i], n) != s {
		return s, 0, fmt.Errorf("row %s: part %s: want a number from 2 on", tables.Quote(s), tables.Quote(s[i+1:]))
	}
	return s[:i], n, nil
}

// A LatestRow is a RowKey of the table latest: the device, and from the second part of its
// output on the number of the part.
type LatestRow struct {
	Device DeviceID
	Part   int // 0 is the first, 2 the second
}

func (r LatestRow) String() string { return PartKey(string(r.Device), r.Part) }

// ParseLatestRow parses the result of String.
func ParseLatestRow(s string) (r LatestRow, err error) {
	rest, part, err := splitPart(s, 1)
	if err != nil {
		return r, err
	}
	r.Part = part
	r.Device, err = ParseDeviceID(rest)
	return r, err
}

// LatestRows returns the RowKeys of latest of the devices from first to last, inclusive.
func LatestRows(first, last DeviceID) tables.Keys {
	return tables.Keys{From: string(first), Before: tables.KeysWithPrefix(string(last) + Separator).Before}
}
