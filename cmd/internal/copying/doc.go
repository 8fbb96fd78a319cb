// Package copying copies a fleet from one storage account to another while devices write and workers fold.
//
// A pass compares a table at both ends, row by row in the order of keys, and writes what differs; likewise the objects
// of the archive, by their versions. So it may be stopped
// at any time and started again, and one that writes nothing shows that both ends are equal.
//
// Tracking rows are copied first, then the archive, then outputs, then readings, then records: the destination has
// each row that a checkpoint has passed, and outputs and objects at least as new as a checkpoint says. What they are
// ahead is folded again, with the same results, by workers whose fences are higher. Stored access policies, runs and
// messages are not copied: they are the account's own, and made there.
package copying
