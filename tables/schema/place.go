package schema

import (
	"cmp"
	"fmt"
	"strings"

	"furrow/tables"
)

// A Place has the keys of a membership and of its rows in the tracking tables. Its text is
// 2026-11/tenant!device.
type Place struct {
	Month Month     // as PartitionKey
	Key   MemberKey // as RowKey
}

// Place returns the keys of m.
func (m Member) Place() Place { return Place{m.Month, m.Key()} }

// Device returns the device of p.
func (p Place) Device() DeviceID { return p.Key.Device() }

// String returns the text of p, which is empty for the zero Place.
func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	return p.Month.String() + "/" + string(p.Key)
}

// ParsePlace parses the result of String.
func ParsePlace(s string) (p Place, err error) {
	if s == "" {
		return p, nil
	}
	month, key, found := strings.Cut(s, "/")
	if !found {
		return p, fmt.Errorf("place %s: want a month, a slash and a row key", tables.Quote(s))
	}
	err = cmp.Or(into(&p.Month, month, ParseMonth), into(&p.Key, key, ParseMemberKey))
	return p, err
}

// SharesTenant reports whether devices at two places have one tenant and partition.
func (p Place) SharesTenant(o Place) bool {
	return p.Month == o.Month && p.Key.Tenant() == o.Key.Tenant()
}

// Compare orders places like storage.
func (p Place) Compare(o Place) int {
	return cmp.Or(p.Month.Compare(o.Month), strings.Compare(string(p.Key), string(o.Key)))
}

// Between returns the range of the rows from first to last, inclusive. If they are in
// different partitions, the range has all rows of these partitions: for a filter on rows of
// several partitions, storage would read the rows that it rejects.
func Between(first, last Place) tables.Range {
	if first.Month == last.Month {
		return tables.RowsBetween(first.Month.String(), string(first.Key), string(last.Key))
	}
	return tables.Range{Partitions: tables.Keys{From: first.Month.String(), To: last.Month.String()}}
}

// MarshalText is String.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePlace.
func (p *Place) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePlace(string(text))
	return err
}
