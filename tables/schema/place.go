package schema

import (
	"cmp"
	"fmt"
	"strings"

	"furrow/tables"
)

// A Place is where a membership is stored, and its rows in the tracking tables.
// Its text is 2026-11/tenant!device.
type Place struct {
	Month Month     // as PartitionKey
	Key   MemberKey // as RowKey
}

// Place is where m is stored.
func (m Member) Place() Place { return Place{m.Month, m.Key()} }

// Device is the device of a place.
func (p Place) Device() DeviceID { return p.Key.Device() }

// String is the text of p; that of the zero Place is empty.
func (p Place) String() string {
	if p == (Place{}) {
		return ""
	}
	return p.Month.String() + "/" + string(p.Key)
}

// ParsePlace reads what String writes.
func ParsePlace(s string) (p Place, err error) {
	if s == "" {
		return p, nil
	}
	month, key, found := strings.Cut(s, "/")
	if !found {
		return p, fmt.Errorf("place %s: want a month, a slash and a row key", tables.Quote(s))
	}
	if p.Month, err = ParseMonth(month); err != nil {
		return Place{}, err
	}
	if p.Key, err = ParseMemberKey(key); err != nil {
		return Place{}, err
	}
	return p, nil
}

// Compare orders places as storage does.
func (p Place) Compare(o Place) int {
	return cmp.Or(p.Month.Compare(o.Month), strings.Compare(string(p.Key), string(o.Key)))
}

// Between are the rows from first to last, both included. Where they lie in several
// partitions, the range is the whole of these: a filter that names rows of more than
// one partition would read rows only to reject them.
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
