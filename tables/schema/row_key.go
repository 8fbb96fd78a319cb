package schema

import (
	"cmp"
	"strings"

	"furrow/tables"
)

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
