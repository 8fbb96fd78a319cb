// Package replay reads files of readings, so that the devices of a simulated fleet
// send them. It takes CSV or lines of JSON, compressed with gzip or not, in the wide
// form, with a column for each sensor, or in the long one: device, time, sensor, value.
// What columns mean is guessed by their names, unless it is said.
//
// Repeats and disorder are kept: they are what a replay is for. A line that is wrong is
// told with its number, and the others count.
package replay
