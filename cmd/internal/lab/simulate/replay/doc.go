// Package replay plays files of readings, which package readings reads, for a simulated fleet to send.
//
// Repeats and disorder are kept, because replays are for testing them. An invalid line is reported with its
// number, and the others count.
package replay
