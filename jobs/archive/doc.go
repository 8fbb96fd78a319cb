// Package archive keeps the readings of each tenant in tables of Parquet files, and rollups and reports of them in
// others. Package catalog knows which files make up a table, and publishes that as the log of a Delta table.
//
// The fold of the processor only marks days, and hours where they are asked for. Group jobs make what marks ask for:
//
//	a commit ─► mark of a day ─► Tables.Make ─► files ─► a version of the table ─► its log
//
// # What a day is made of
//
// MakeDay reads the rows of a day from storage, and replaces the files that the table has of the day and of one
// partition of the fleet. It takes over from those files what it does not read: readings of devices that the marks do
// not name, and of devices whose rows retention may have deleted. Retention raises a device's watermark before it
// deletes rows, and MakeDay looks at the watermarks again before it commits; so a reading is in storage, or in a file
// that is taken over, or both.
//
// Readings that come late, of devices that marks name, are put into a file beside those of the day (tablelate.go). No
// file leaves the table for them unless the new one has its readings. Rollups and reports of the day are made again of
// all readings.
//
// Partitions of the fleet follow the month in which devices were registered, so a day of a tenant that grows has a file
// of each. Small files become one as they grow in number, whatever partitions they are of (tablemerge.go): each reading
// is written again only a few times, and a day has few files. Who makes the day of a partition again takes over what
// its files have of others.
//
// An open day has a file for each hour that is over. The version that has the whole day has none of its hours.
//
// Rollups and reports are made of the same readings, and are committed before them. Who finds a day of readings finds
// what belongs to it.
//
// # When
//
// A day is made when it is over, or at once where all of it is asked for, as after a change of settings. Late rows
// wait until nothing of the day has changed for an hour, or, where they are many, until no more come.
//
// # Earlier releases
//
// They wrote Parquet files, or lines of JSON, into folders without a log (olderday.go). Such a day is taken over when
// it is made, with the readings that storage lacks, and then deleted. While workers of such a release may run, all
// marks wait.
//
// The package is the home of azblob in the program.
package archive
