// Package history imports the readings of real devices from files into the partitions of those devices, as if the
// devices had sent them.
//
// A file may have any size and any order: its rows are first sorted by device and time. The memory holds a part of a
// fixed size, and a temporary file all of them, whatever order they were in. So every device is written once, from its
// oldest row on, and a pipeline that runs meanwhile never passes a row that is still to be written.
//
// The key of a row is its time and a hash of its values, so the same row always has the same key: an import that was
// stopped, or that is repeated, reads the keys that are there and writes the others. Several equal rows of one tick are
// numbered.
//
// Before the first row of a device that is not there yet, the import notes on the device's membership which rows it is
// about to write, and afterwards that it has ended. Jobs read that note with the membership. Each pipeline folds the
// days again that the import has written below its checkpoint, when the import has ended, or when its note has expired
// because it was killed.
package history
