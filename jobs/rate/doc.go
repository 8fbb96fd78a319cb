// Package rate folds readings into rates of change: how much each number sensor
// changes from reading to reading, and over a span of time.
//
// Outputs are in the table rates. A device's row, whose key is as in latest, has the
// newest rates of each sensor:
//
//   - the difference to the sensor's reading before, and the same per hour;
//   - the difference over the configured span, and the same per hour: from the
//     newest reading at or before the start of the span, which is rounded down to a
//     twelfth of the span, so that a few readings are all that has to be kept.
//
// Rows by hour and by day, whose keys are as in rollups, have a Summary of each sensor:
// its first and last reading in the bucket, and the number, sum, least, greatest and
// last of the differences between them. Summary.Since adds the difference to the
// last reading of an earlier bucket: queries and pages do this as they read.
//
// A sensor that was silent for more than a day begins again: its next reading has no
// reading before. Of several readings at one tick the first counts. Readings of bad
// quality do not count.
//
// A counter is never silent for too long: what it rose over a pause counts in the bucket
// in which it was seen, which Since says to readers. fold.Counter tells dips, resets and
// wraps apart. A single zero after a greater number counts only if the next reading
// confirms it, so a Summary says which zeros are at its ends: they may be explained by the
// buckets beside it. In the device's row a zero that is the first reading of a day (UTC)
// counts at once, since nothing there may depend on older days.
//
// Where the configuration names the properties of a position, rates carry the
// position that the device had at that reading: the one in the reading, or the last
// one before it, of the same bucket or of the same days as the row.
//
// # Why refolds are exact
//
// What is stored depends on few readings, which a refold reads whole:
//
//   - A bucket depends on its own readings alone. A late row changes its hour, its day,
//     and no later bucket. A difference that reaches over midnight is not
//     stored, but taken by the reader from the first and last readings.
//   - A device's row depends on the readings from the day before its newest one on, or
//     from two days before where the span is longer than 12 hours, and so does all that
//     a state has. So it is an open window that starts with that day (OpenFrom): a late
//     row there has everything from that day to the checkpoint folded again, and an
//     older one cannot change it. A sensor is in the row if its newest reading and
//     the one before it are of these days, and a day apart at most unless it is a counter. A span reaches back
//     by one of these days at most, or two.
//
// So a late row never has more than two or three days folded again besides its own.
//
// # Bounds
//
// A sensor takes about 350 bytes and twice its name in a state, a counter 500. A bucket
// takes the first sensors in row order for which there is room: about 60, or 44
// counters (40 or 29 where the span is longer than 12 hours). The device's row has the
// sensors of the buckets of its days. The others have no rates.
package rate
