package archive

import (
	"strings"

	"furrow/jobs"
	"furrow/tables/schema"
)

// output names the object of a device and day. What is encoded, and why, is in
// the package's doc; a percent sign is in no id, so every name can be read back.
func output(d schema.Member, day schema.Day) jobs.Output {
	return jobs.Output{
		Kind:         jobs.Object,
		PartitionKey: "readings/tenant=" + encodeTenant(d.Tenant) + "/date=" + day.String(),
		RowKey:       encodeDevice(d.Device) + ".jsonl.gz",
	}
}

func encodeTenant(t schema.Tenant) string {
	s := colons(string(t))
	if rest, dot := strings.CutSuffix(s, "."); dot {
		s = rest + "%2E"
	}
	return s
}

func encodeDevice(d schema.DeviceID) string {
	s := colons(string(d))
	switch {
	case strings.HasPrefix(s, "."):
		s = "%2E" + s[1:]
	case strings.HasPrefix(s, "_"):
		s = "%5F" + s[1:]
	}
	return s
}

func colons(s string) string { return strings.ReplaceAll(s, ":", "%3A") }
