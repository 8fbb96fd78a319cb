// Package replay reads files of readings for a simulated fleet to send: CSV or JSON lines, compressed with
// gzip or not, in the wide form, with a column for each sensor, or in the long form: device, time, sensor,
// value. It guesses from their names what columns mean, unless it is told.
//
// Repeats and disorder are kept, because replays are for testing them. An invalid line is reported with its
// number, and the others count.
package replay
