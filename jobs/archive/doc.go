// Package archive keeps readings as objects, written when their day (UTC) is over and replaced when readings came late:
// raw readings of each device as JSON, or the samples of many devices as Parquet.
//
// # JSON
//
// An object for each device and day:
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
// # Parquet
//
// A folder for each tenant and day, with files of about 128 MiB for each partition of the fleet:
//
//	tenant=<tenant>/date=2026-11-20/2026-11.03-0000.parquet
//	tenant=<tenant>/date=2026-11-20/_2026-11.03.json         the Manifest
//	tenant=<tenant>/date=2026-11-20/_2026-11.03.ranges.json  which devices each file has
//
// Beside each, as far as they are asked for, files with the rollups and reports of its devices:
//
//	rollups/window=1h/tenant=<tenant>/date=2026-11-20/2026-11.03-0000.parquet
//	reports/window=1h/tenant=<tenant>/date=2026-11-20/2026-11.03-0000.parquet
//
// They are folded from the same readings and put before the file of readings, on the versions that were there before
// these were read. So the watermark of that file holds for them, too.
//
// The ranges are fixed before the first file, and the manifest is written last. A file is replaced in one step, on the
// version that was there before its readings were read, so of two jobs none puts old over new. Its metadata have the
// time before which storage had accepted every row that it could lack: a mark that is older asks for nothing.
// A file that is made again takes the readings of devices whose rows retention may have deleted from the one that it
// replaces. Devices that have left the fleet stay in the files as long as their data is kept.
//
// An hour of a day that is still open has a folder like that of a day, if it is asked for, until the day's files
// replace it:
//
//	hours/tenant=<tenant>/date=2026-11-20/hour=13/2026-11.03-0000.parquet
//
// The hours of a day are deleted after its manifest was written: by whoever makes the day, or an hour of it so late, or
// a later day of the tenant. So a reading is always in one of both places, and in both only for that long.
//
// It is the home of azblob in the program.
package archive
