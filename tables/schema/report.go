package schema

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"furrow/tables"
)

// A By says what devices have in common that are reported together: tenant, site, or labels.NAME for a label.
type By string

// The groups that every fleet has.
const (
	ByTenant By = "tenant"
	BySite   By = "site"
)

const labelsPrefix = "labels."

// ParseBy returns s as a By, or why it is invalid.
func ParseBy(s string) (By, error) {
	label, is := strings.CutPrefix(s, labelsPrefix)
	switch {
	case By(s) == ByTenant || By(s) == BySite:
		return By(s), nil
	case !is:
		return "", fmt.Errorf("group %s: want tenant, site or labels.NAME", tables.Quote(s))
	}
	return By(s), checkText("label", label)
}

// ByLabel returns the By of a label.
func ByLabel(name string) By { return By(labelsPrefix + name) }

// Label returns the name of the label of b, or an empty text if it is not by a label.
func (b By) Label() string {
	label, _ := strings.CutPrefix(string(b), labelsPrefix)
	if label == string(b) {
		return ""
	}
	return label
}

// Of returns the group of devices at a site and with labels, or false if they are in none. Its text is empty by tenant.
func (b By) Of(site Site, labels map[string]string) (group string, is bool) {
	switch {
	case b == ByTenant:
		return "", true
	case b == BySite:
		return string(site), site != ""
	}
	group = labels[b.Label()]
	return group, group != ""
}

// key returns b as a part of keys.
func (b By) key() string { return escape(string(b)) }

// A ReportPartition is a PartitionKey of the table reports: tenant!window!period!month. Its period is a day where
// buckets are shorter than an hour, a month where they are shorter than a day, and else a year.
type ReportPartition struct {
	Tenant Tenant
	Window Window
	Period string
	Month  Month
}

// PeriodOf returns the period of reports that a bucket lies in.
func (w Window) PeriodOf(bucket tables.Ticks) string {
	day := DayOf(bucket).String()
	switch {
	case w < Hour:
		return day
	case w < Daily:
		return day[:len("2026-11")]
	}
	return day[:len("2026")]
}

// ReportsIn returns the PartitionKeys of the reports of a tenant in a period: one for each partition of the fleet.
func ReportsIn(t Tenant, w Window, period string) tables.Keys {
	return tables.KeysWithPrefix(t.Key() + Separator + w.String() + Separator + period + Separator)
}

// End returns the end of the period.
func (p ReportPartition) End() tables.Ticks {
	for _, by := range []struct {
		form                string
		years, months, days int
	}{{time.DateOnly, 0, 0, 1}, {"2006-01", 0, 1, 0}, {"2006", 1, 0, 0}} {
		if at, err := time.Parse(by.form, p.Period); err == nil {
			return tables.TicksOf(at.AddDate(by.years, by.months, by.days))
		}
	}
	return tables.MaxTicks
}

// ReportsOfWindow returns the PartitionKeys of all reports of a tenant and window.
func ReportsOfWindow(t Tenant, w Window) tables.Keys {
	return tables.KeysWithPrefix(t.Key() + Separator + w.String() + Separator)
}

func (p ReportPartition) String() string {
	return p.Tenant.Key() + Separator + p.Window.String() + Separator + p.Period + Separator + p.Month.String()
}

// ParseReportPartition parses the result of String.
func ParseReportPartition(s string) (p ReportPartition, err error) {
	parts, err := split("partition of reports", s, 4)
	if err != nil {
		return p, err
	}
	p.Period = parts[2]
	err = cmp.Or(into(&p.Tenant, parts[0], ParseTenantKey), into(&p.Window, parts[1], ParseWindow),
		into(&p.Month, parts[3], ParseMonth))
	return p, err
}

// A ReportRow is a RowKey of the table reports: by!group!bucket, and from the second part on the number of the part.
type ReportRow struct {
	By     By
	Group  string // a site or a label's value; empty by tenant
	Bucket tables.Ticks
	Part   int // 0 is the first, 2 the second
}

func (r ReportRow) String() string { return PartKey(r.group()+r.Bucket.String(), r.Part) }

func (r ReportRow) group() string { return r.By.key() + Separator + escape(r.Group) + Separator }

// ReportRows returns the RowKeys of the reports of a group from one bucket, included, to another, excluded.
func ReportRows(b By, group string, from, to tables.Ticks) tables.Keys {
	r := ReportRow{By: b, Group: group}
	return tables.Keys{From: r.group() + from.String(), Before: r.group() + to.String()}
}

// ReportRowsBy returns the RowKeys of the reports of all groups.
func ReportRowsBy(b By) tables.Keys { return tables.KeysWithPrefix(b.key() + Separator) }

// ParseReportRow parses the result of String.
func ParseReportRow(s string) (r ReportRow, err error) {
	parts, part, err := splitRow("row of reports", s, 3)
	if err != nil {
		return r, err
	}
	r.Part = part
	err = cmp.Or(into((*string)(&r.By), parts[0], unescape), into(&r.Group, parts[1], unescape),
		into(&r.Bucket, parts[2], tables.ParseTicks))
	return r, err
}

// Properties of a report besides its sensors.
const (
	DevicesProperty = "_devices" // of the group that have a number in the bucket
	MoreProperty    = "_more"    // number of sensors that were left out
)

// A ReportHead is a row beside the reports of a bucket in a partition of the fleet: !bucket. Whoever writes reports of
// the bucket writes the head in the same transaction, on the version that was read before the devices' rows. So nothing
// old replaces what is newer.
type ReportHead struct {
	Partition ReportPartition
	Bucket    tables.Ticks
	Rows      []string // RowKeys, without the bucket, of the reports that may exist
	Left      int64    `row:"Left,omitzero"` // groups that were left out, because their names take too much room
	// Revision says how often the reports have changed since the bucket closed. It is kept only if they go to a queue.
	Revision int64  `row:"Revision,omitzero"`
	Sent     int64  `row:"Sent,omitzero"` // the last revision that went there
	Sum      string `row:"Sum,omitzero"`  // of the reports of the revision; empty: none
	ETag     tables.ETag
}

// ReportHeadKey returns the RowKey of the head of a bucket.
func ReportHeadKey(bucket tables.Ticks) string { return Separator + bucket.String() }

// ReportHeads returns the RowKeys of the heads of the buckets before one.
func ReportHeads(before tables.Ticks) tables.Keys {
	return tables.Keys{From: Separator, Before: ReportHeadKey(before)}
}

// Keys returns the RowKeys of the reports that may exist.
func (h ReportHead) Keys() (keys []string) {
	for _, name := range h.Rows {
		keys = append(keys, h.Key(name))
	}
	return keys
}

// Name returns the name of a row in the head: its key without the bucket.
func (h ReportHead) Name(key string) string {
	i := reportGroupEnd(key)
	return key[:i] + key[i+len(h.Bucket.String()):]
}

// Key returns the RowKey of the row with a name.
func (h ReportHead) Key(name string) string {
	i := reportGroupEnd(name)
	return name[:i] + h.Bucket.String() + name[i:]
}

// reportGroupEnd returns the length of by!group! in the key or the name of a row.
func reportGroupEnd(key string) int {
	i := strings.Index(key, Separator) + 1
	return i + strings.Index(key[i:], Separator) + 1
}

// MaxReportRows is how many bytes the names of a bucket's groups may take in all.
const MaxReportRows = reportPieces * reportPiece

const reportPieces, reportPiece = 12, 60 << 10

var errReportRows = errors.New("the names of its groups take too much room")

// Entity returns the row of h.
func (h ReportHead) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: h.Partition.String(), RowKey: ReportHeadKey(h.Bucket)}
	text := strings.Join(h.Rows, "\n")
	if len(text) > MaxReportRows {
		return e, errReportRows
	}
	for i := 0; text != ""; i++ {
		n := min(len(text), reportPiece)
		e.Set(fmt.Sprintf("Rows%02d", i), tables.Binary([]byte(text[:n])))
		text = text[n:]
	}
	return e, e.Encode(&h)
}

// ReportHeadOf decodes the row of a head.
func ReportHeadOf(e tables.Entity) (h ReportHead, err error) {
	h.ETag = e.ETag
	f := decode(&e, &h)
	h.Partition = parsed(f, "PartitionKey", e.PartitionKey, ParseReportPartition)
	h.Bucket = parsed(f, "RowKey", strings.TrimPrefix(e.RowKey, Separator), tables.ParseTicks)
	var text strings.Builder
	for i := range reportPieces {
		text.Write(f.Binary(fmt.Sprintf("Rows%02d", i)))
	}
	if text.Len() > 0 {
		h.Rows = strings.Split(text.String(), "\n")
	}
	return h, f.Err()
}
