// Package readings reads files of readings, in the wide form, with a column for each sensor, or in the long form:
// device, time, sensor, value. It reads a file once to find out what its columns mean, and says so in a [Plan], by
// which it then reads the rows. A guess that is not safe is an error that names the flag which decides.
package readings
