// Package archive keeps raw readings as objects: one for each device and day
// (UTC), written when the day is over and replaced when readings came late.
//
//	readings/tenant=<tenant>/date=2026-11-20/<device>.jsonl.gz
//
// An object is gzipped JSON, a reading a line, in the order of the row keys:
//
//	{"device":"d1","key":"0639307630200000000","time":"2026-11-20T09:17:00Z","values":{"temperature":21.5}}
//
// Under values are the properties that the device wrote, with their types: of an
// integer of 64 bits all digits are written, so readers that hold numbers as
// doubles lose some beyond 2^53; a double has a point or an exponent, or is the
// text NaN, Infinity or -Infinity; a time is text in RFC 3339, a binary is text
// in base64, and a GUID is text. Equal readings make equal objects, byte by byte.
//
// Tenant and device are as they are but for a few characters, which are
// percent-encoded as Hive encodes partitions, so that Spark and DuckDB decode a
// tenant by themselves: a colon, which Windows and Hadoop have another use for;
// a dot at the end of a tenant, which Azure advises against; and a dot or
// underscore at the beginning of a device, as Spark skips files named so. Names
// are case-sensitive, as ids are: tools that are not, such as a download to
// Windows or macOS, put devices that differ by case alone in one another's place.
//
// It is the home of azblob in the program.
package archive
