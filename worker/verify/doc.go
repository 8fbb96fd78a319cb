// Package verify counts a fleet: it reads what storage has of a device and compares it with every output that the
// pipelines of a configuration make of it.
//
// It shares no code with what it verifies. It imports the client and the keys of tables, and nothing that folds,
// merges or counts: what rows mean, what a bucket holds and what a tracking row says is written down here a second
// time, from the documentation. It is read only, and needs a fixed amount of memory for a device, however many rows
// that has.
//
//	raw rows ──► meaning ──► latest, rollups, rates and buckets as they should be ──► compared with the tables
//	        ├──► counted by hour ──► compared with the ledger
//	        ├──► counted by tenant and day ──► compared with the catalog of the archive
//	        └──► cells and rollups as they should be ──► compared with the archive's files
//
// Workers go on meanwhile. A job raises the version of a device's tracking row before it writes an output, so outputs
// that were read between two equal versions without an open claim are those of one commit. Where something differs and
// the version has changed, the device is looked at again.
//
// # What a difference is
//
// A difference is explained where the tables say why: see Reason. What remains is unknown, and somebody should look at
// it. An explanation is narrow. Rows above the checkpoint are in flight, and nothing else is. A row below it counts as
// late only if storage accepted it after its settle time: a row that was there when the checkpoint passed must be in
// the outputs.
//
// A file of the archive has cells as they were meant when it was made. Where they differ, the marks of days and the
// tracking row of the device say whether they are to be made again. Its rollups are those of its readings, so they are
// computed from the raw rows of readings that the files have. Its reports are not compared.
//
// A day that is sealed has left the ledger, so nothing says how many of its rows were folded; its outputs do. If tokens
// admit older rows than they did when it was sealed, the next audit has it folded again, and it counts as such before
// that. Days below the watermark of retention are counted, and compared with nothing.
package verify
