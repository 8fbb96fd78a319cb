package archive

import (
	"strings"

	"furrow/jobs"
	"furrow/tables/schema"
)

// output returns the object of a device and day, encoded as the package's documentation says. Every name can be
// decoded, because percent signs are encoded, too.
func output(d schema.Member, day schema.Day) jobs.Output {
	return jobs.Output{
		PartitionKey: "readings/tenant=" + encodeTenant(d.Tenant) + "/date=" + day.String(),
		RowKey:       encodeDevice(d.Device) + ".jsonl.gz",
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
