// Package columnar writes readings as Parquet files and reads them back. A file has the columns device, time and key,
// those that say more about devices, and one for each sensor: of numbers, of texts, or two where a sensor has both. A
// file with too many columns has a row for each value instead.
//
// Rows are in the order of devices and row keys. They are compressed with zstd, in row groups with statistics.
package columnar
