package schema

import (
	"cmp"
	"strings"

	"furrow/tables"
)

// A Reading is a row that a device wrote, with a property per sensor. Devices choose the
// names and types of the properties.
type Reading struct {
	Device     DeviceID
	Key        RowKey
	Properties []tables.Property
}

// ReadingOf decodes a row of a readings table. It returns an error if the keys are not those
// of a reading. The result shares the row's properties.
func ReadingOf(e tables.Entity) (Reading, error) {
	device, err := ParseDeviceID(e.PartitionKey)
	if err != nil {
		return Reading{}, err
	}
	key, err := ParseRowKey(e.RowKey)
	if err != nil {
		return Reading{}, err
	}
	return Reading{Device: device, Key: key, Properties: e.Properties}, nil
}

// Entity returns the row of r.
func (r Reading) Entity() tables.Entity {
	return tables.Entity{PartitionKey: string(r.Device), RowKey: r.Key.String(), Properties: r.Properties}
}

// A RowKey is the key of a reading of a device. Its text is the ticks and, if several
// readings share a tick, -suffix. Text order is time order.
type RowKey struct {
	Ticks  tables.Ticks
	Suffix string // empty, or 1 to 64 of the characters of a DeviceID
}

// String returns the stored text.
func (k RowKey) String() string {
	if k.Suffix == "" {
		return k.Ticks.String()
	}
	return k.Ticks.String() + "-" + k.Suffix
}

// Compare orders row keys like their texts.
func (k RowKey) Compare(o RowKey) int {
	return cmp.Or(cmp.Compare(k.Ticks, o.Ticks), strings.Compare(k.Suffix, o.Suffix))
}

// ParseRowKey parses the result of String. Devices choose their row keys, so that of a
// stored reading may be invalid.
func ParseRowKey(s string) (RowKey, error) {
	ticks, suffix, has := strings.Cut(s, "-")
	t, err := tables.ParseTicks(ticks)
	if err == nil && has {
		err = checkPart("suffix of row key", suffix, maxSuffix)
	}
	if err != nil {
		return RowKey{}, err
	}
	return RowKey{Ticks: t, Suffix: suffix}, nil
}
