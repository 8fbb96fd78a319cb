// Package archive keeps raw readings as objects: one for each device and day (UTC), written when the day is over and
// replaced when readings came late.
//
//	readings/tenant=<tenant>/date=2026-11-20/<device>.jsonl.gz
//
// An object is gzipped JSON, a reading a line, in the order of the row keys:
//
//	{"device":"d1","key":"0639307630200000000","time":"2026-11-20T09:17:00Z","values":{"temperature":21.5}}
//
// Under values are the properties that the device wrote, with their types: of an integer of 64 bits all digits are
// written, so readers that hold numbers as doubles lose some beyond 2^53; a double has a point or an exponent, or is
// the text NaN, Infinity or -Infinity; a time is text in RFC 3339, a binary is text in base64, and a GUID is text.
// Equal readings make equal objects, byte by byte.
//
// Tenant and device are percent-encoded as Hive encodes partitions, so that Spark and DuckDB decode the tenant. In a
// tenant, all characters are encoded except letters a-z and A-Z, digits, and - . _, and a dot at its end, which Azure
// advises against. In a device ID, these are encoded: a colon, which Windows and Hadoop reserve, and a dot or
// underscore at its beginning, because Spark skips such files. Names are case-sensitive, as IDs are: a download to
// Windows or macOS mixes up devices whose IDs differ only by case.
//
// It is the home of azblob in the program.
package archive
