// Package readings reads files of readings: CSV, JSON lines or Parquet, the first two compressed with gzip or not. They
// are in the wide form, with a column for each sensor, or in the long form: device, time, sensor, value. It guesses
// from their names what columns mean, unless it is told.
package readings
