package archive

import (
	"errors"
	"strings"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// output returns the object of a device and day, encoded as the package's documentation says. Every name can be
// decoded, because percent signs are encoded, too.
func output(d schema.Member, day schema.Day) fold.Output {
	return fold.Output{
		PartitionKey: objectsFolder + tenantFolder(d.Tenant) + "date=" + day.String(),
		RowKey:       encodeDevice(d.Device) + suffix,
	}
}

// encodeTenant writes the tenant's key with percent signs, which tools decode.
func encodeTenant(t schema.Tenant) string { return strings.ReplaceAll(t.Key(), "=", "%") }

func encodeDevice(d schema.DeviceID) string {
	s := strings.ReplaceAll(string(d), ":", "%3A")
	switch {
	case strings.HasPrefix(s, "."):
		s = "%2E" + s[1:]
	case strings.HasPrefix(s, "_"):
		s = "%5F" + s[1:]
	}
	return s
}

// suffix ends the name of every object.
const suffix = ".jsonl.gz"

// days is the state of a device: its days with readings that are not archived yet, in order.
type days []schema.Day

// with adds a day, which must not come before the last one.
func (a days) with(d schema.Day) (days, error) {
	if n := len(a); n > 0 && d <= a[n-1] {
		if d < a[n-1] {
			return nil, errOrder
		}
		return a, nil
	}
	return append(a, d), nil
}

const stateVersion = 1

// encode writes each day as the difference to the day before: a byte for a device that writes daily.
func (a days) encode() []byte {
	b := pack.Int([]byte{stateVersion}, len(a))
	before := schema.Day(-1)
	for _, d := range a {
		b = pack.Int(b, d-before)
		before = d
	}
	return b
}

var errVersion = errors.New("the state has a version that this program does not know")

// decode reads a state. No bytes are the state of a device that was never folded, because storage returns nil as no
// bytes.
func decode(b []byte) (days, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != stateVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	a := make(days, 0, r.Count())
	before, last := schema.Day(-1), schema.DayOf(tables.MaxTicks)
	for range cap(a) {
		after := schema.Day(r.Int())
		if after < 1 || after > last-before {
			return nil, pack.ErrDamaged
		}
		before += after
		a = append(a, before)
	}
	return a, r.Err()
}
