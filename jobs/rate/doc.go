// Package rate folds readings into rates of change: how much each number sensor has
// changed since its reading before, and over a span of time.
//
// For each good number of a sensor it works out
//
//   - the difference to the sensor's reading before, and the same per hour;
//   - the difference over the configured span, and the same per hour: from the
//     newest reading at or before the span's start. The start is rounded down to a
//     thirtieth of the span, and of the readings of each thirtieth the last one
//     counts. This bounds what has to be remembered, and nothing depends on how
//     the readings were cut into jobs.
//
// No difference reaches back further than a day, or two days where the span is longer than
// twelve hours: a sensor that was silent for longer begins again. Of several readings
// at one tick the first counts.
//
// A sensor that the configuration calls a counter never falls by itself: a decrease
// is a reset, and the difference counts from zero.
//
// Where the configuration names the properties of a position, each rate carries the
// position that the device had then: the one in the reading, or the last one before
// it, as far as differences reach back.
//
// Outputs are in the table rates. The row of a device, whose key is as in latest, has the newest
// rates of all sensors that have sent something today or yesterday (UTC, by the device's newest reading). Rows
// by hour and by day, whose keys are as in rollups, have how many differences there
// were, their sum, the hours that they cover, and the least, greatest and last rate.
//
// What a device's state takes is bounded. A sensor takes some 600 bytes and its
// name, a counter 860: so about 75 sensors of a device have rates on a day (50 where
// differences reach back two days), the first ones in row order. The others have none.
package rate
