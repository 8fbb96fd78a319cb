package schema

import (
	"fmt"
	"strconv"
	"strings"

	"furrow/tables"
)

// A Mark is a row of a partition-tracking table: a note that something over many devices of a tenant has to be made
// again for one partition of the fleet, such as the report of an hour or the archive of a day. It has no properties:
// every write of it is a new version, and a job deletes only the version that it read.
//
// The row keys of marks begin with Separator, so they sort before the rows of all devices and are in no batch.
type Mark struct {
	Month  Month    // with the shard
	Kind   MarkKind // of work
	Tenant Tenant
	Name   string       // says what of the tenant's; parts of a key, divided by Separator
	At     tables.Ticks // of its last write
	Read   tables.Ticks // time of the service when a job read it
	ETag   tables.ETag
}

// A MarkKind says what a mark asks for.
type MarkKind string

// ReportMark marks the report of a bucket: its Name is window!bucket.
const ReportMark MarkKind = "report"

// ArchiveMark marks the files of a day, such as 2026-11-20, or of an hour of a day that is still open, such as
// 2026-11-20T13: this is its Name, with !device if only the file with that device has to be made again.
const ArchiveMark MarkKind = "archive"

const marksPrefix, groupsPrefix = Separator + "mark" + Separator, Separator + "group" + Separator

// Marks returns the range of the marks of a kind in a partition.
func Marks(m Month, k MarkKind) tables.Range {
	return tables.Range{Partitions: tables.Is(m.String()),
		Rows: tables.KeysWithPrefix(marksPrefix + string(k) + Separator)}
}

// Key returns the RowKey of m: !mark!kind!tenant!name.
func (m Mark) Key() string {
	return marksPrefix + string(m.Kind) + Separator + m.Tenant.Key() + Separator + m.Name
}

// An ArchivePart is what an ArchiveMark is about.
type ArchivePart struct {
	Day    Day
	Hour   int      // from 1, which begins at midnight, to 24; 0: the whole day
	Device DeviceID // empty: any
}

// Name returns the Name of a mark.
func (a ArchivePart) Name() string {
	name := a.Day.String()
	if a.Hour > 0 {
		name += fmt.Sprintf("T%02d", a.Hour-1)
	}
	if a.Device != "" {
		name += Separator + string(a.Device)
	}
	return name
}

// Archive returns what an ArchiveMark is about.
func (m Mark) Archive() (a ArchivePart, err error) {
	name, device, _ := strings.Cut(m.Name, Separator)
	day, hour, hourly := strings.Cut(name, "T")
	if hourly {
		n, err := strconv.Atoi(hour)
		if err != nil || n < 0 || n > 23 || fmt.Sprintf("%02d", n) != hour {
			return a, fmt.Errorf("hour %s: want two digits from 00 to 23", tables.Quote(hour))
		}
		a.Hour = n + 1
	}
	a.Device = DeviceID(device)
	a.Day, err = ParseDay(day)
	return a, err
}

// Together reports whether one making fulfils two marks of a kind: those of the same day or hour of an archive,
// whatever their devices. They stand side by side.
func (m Mark) Together(o Mark) bool {
	return m.Month == o.Month && m.Tenant == o.Tenant && m.subject() == o.subject()
}

func (m Mark) subject() string {
	if m.Kind != ArchiveMark {
		return m.Name
	}
	part, _, _ := strings.Cut(m.Name, Separator)
	return part
}

// Entity returns the row of m.
func (m Mark) Entity() tables.Entity {
	return tables.Entity{PartitionKey: m.Month.String(), RowKey: m.Key()}
}

// MarkKindOf returns the kind of a row with this RowKey, or false if it is not a mark.
func MarkKindOf(rowKey string) (MarkKind, bool) {
	rest, is := strings.CutPrefix(rowKey, marksPrefix)
	kind, _, found := strings.Cut(rest, Separator)
	return MarkKind(kind), is && found
}

// MarkOf decodes the row of a mark.
func MarkOf(e tables.Entity) (m Mark, err error) {
	m.ETag, m.At = e.ETag, e.Timestamp
	if m.Month, err = ParseMonth(e.PartitionKey); err != nil {
		return m, err
	}
	rest, is := strings.CutPrefix(e.RowKey, marksPrefix)
	parts := strings.SplitN(rest, Separator, 3)
	if !is || len(parts) != 3 {
		return m, fmt.Errorf("row %s is not a mark: want !mark!kind!tenant!name", tables.Quote(e.RowKey))
	}
	m.Kind, m.Name = MarkKind(parts[0]), parts[2]
	m.Tenant, err = ParseTenantKey(parts[1])
	return m, err
}

// A GroupTurn is a row beside the marks of a kind: it says until when a job is under way that makes what they ask for,
// so that there is one at a time.
type GroupTurn struct {
	Month    Month
	Kind     MarkKind
	ID       string       `row:"GroupID"`          // of the job's message; empty if none is under way
	Until    tables.Ticks `row:"GroupUntil,int64"` // then another one may begin
	Settings string       `row:"GroupSettings"`    // with which everything that exists was made or marked
	Waiting  int64        `row:"GroupWaiting"`     // of what marks ask for, when the last job ended
	Since    tables.Ticks `row:"GroupSince,int64"` // when the first of these marks was left
	ETag     tables.ETag
}

// GroupTurnProperties returns the properties that GroupTurnOf reads.
func GroupTurnProperties() []string {
	return tables.Columns[GroupTurn]()
}

// GroupKey returns the RowKey of the GroupTurn of a kind.
func GroupKey(k MarkKind) string { return groupsPrefix + string(k) }

// Entity returns the row of t.
func (t GroupTurn) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: t.Month.String(), RowKey: GroupKey(t.Kind)}
	_ = e.Encode(&t) // texts and numbers
	return e
}

// GroupTurnOf decodes the row of a GroupTurn, or returns false if the row is something else.
func GroupTurnOf(e tables.Entity) (t GroupTurn, is bool) {
	kind, is := strings.CutPrefix(e.RowKey, groupsPrefix)
	month, err := ParseMonth(e.PartitionKey)
	t = GroupTurn{Month: month, Kind: MarkKind(kind), ETag: e.ETag}
	e.Fields().Decode(&t)
	return t, is && err == nil
}
