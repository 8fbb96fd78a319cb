package schema

import (
	"cmp"
	"fmt"
	"strings"

	"furrow/tables"
)

// BucketsTable is the table buckets, without the prefix of the fleet's names.
const BucketsTable = "buckets"

// A BucketRow is a RowKey of the table buckets: start of the bucket!device, and from the second part of an output on
// the number of the part. The PartitionKey is a RollupPartition. Rows sort by time, then by device: what a report of a
// bucket needs is one range.
type BucketRow struct {
	Bucket tables.Ticks // start of the bucket
	Device DeviceID
	Part   int // 0 is the first, 2 the second
}

func (r BucketRow) String() string {
	return PartKey(r.Bucket.String()+Separator+string(r.Device), r.Part)
}

// ParseBucketRow parses the result of String.
func ParseBucketRow(s string) (r BucketRow, err error) {
	parts, part, err := splitRow("row of buckets", s, 2)
	if err != nil {
		return r, err
	}
	r.Part = part
	err = cmp.Or(into(&r.Bucket, parts[0], tables.ParseTicks), into(&r.Device, parts[1], ParseDeviceID))
	return r, err
}

// DevicesOfBucket returns the RowKeys of all devices' rows of a bucket.
func DevicesOfBucket(start tables.Ticks) tables.Keys {
	return tables.KeysWithPrefix(start.String() + Separator)
}

// A ReportedBucket is what a mark of a report names: window!start of the bucket.
type ReportedBucket struct {
	Window Window
	Start  tables.Ticks
}

func (b ReportedBucket) String() string { return b.Window.String() + Separator + b.Start.String() }

// ParseReportedBucket parses the result of String.
func ParseReportedBucket(s string) (b ReportedBucket, err error) {
	window, start, _ := strings.Cut(s, Separator)
	err = cmp.Or(into(&b.Window, window, ParseWindow), into(&b.Start, start, tables.ParseTicks))
	if err == nil && b.Window.Start(b.Start) != b.Start {
		err = fmt.Errorf("no bucket of %s starts at %s", b.Window, start)
	}
	return b, err
}

// Properties of a row of buckets that say where the device was at the start of the bucket.
const (
	SiteProperty   = "_site"
	LabelsProperty = "_labels"
)

// PlacementProperties returns the properties that say where a device was at a time.
func PlacementProperties(m Member, at tables.Ticks) (all []tables.Property) {
	p := m.PlacementAt(at)
	if p.Site != "" {
		all = append(all, tables.Property{Name: SiteProperty, Value: tables.String(string(p.Site))})
	}
	labels, err := packed(p.Labels, len(p.Labels))
	if err == nil && len(p.Labels) > 0 { // the membership has them in the same form
		all = append(all, tables.Property{Name: LabelsProperty, Value: labels})
	}
	return all
}

// PlacementOf returns what PlacementProperties has written.
func PlacementOf(e tables.Entity) (site Site, labels map[string]string, err error) {
	f := fieldsOf(&e)
	site = Site(f.String(SiteProperty))
	unpack(f, LabelsProperty, &labels)
	return site, labels, f.Err()
}
