// Package history imports the readings of real devices from files into the partitions of those devices, as if the
// devices had sent them.
//
// A file may have any size and any order: its rows are first sorted by device and time, in parts of a fixed size in
// memory and then in a temporary file. So every device is written once, from its oldest row on, and a pipeline that
// runs meanwhile never passes a row that is still to be written.
//
// The key of a row is its time and a hash of its values, so the same row always has the same key: an import that was
// stopped, or that is repeated, reads the keys that are there and writes the others. Several equal rows of one tick are
// one.
//
// Before it writes the first missing row of a device, the import notes on the device's membership which rows it will
// write, and afterwards that it has ended. Jobs read that note with the membership. When the import has ended, or its
// note has expired because it was killed, each pipeline folds the days again that have new rows below its checkpoint.
package history
