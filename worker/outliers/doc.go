// Package outliers finds the devices that stand out from their neighbours: that are off, stuck, drifting, noisy,
// rejected or silent. Its functions are pure.
//
// Neighbours are the devices of a group, such as those of a site, that are of one class, such as a model. A device is
// compared in the first of its groups that has at least six devices with the sensor; without one it is not.
//
// Numbers are compared by their distance from the median, in spreads. A spread is 1.4826 times the median of all
// distances: the standard deviation, if they are normally distributed, which a few wrong devices hardly change. A
// number of n stands out from
//
//	limit = 8 × (1 + (10/n)²) spreads on: 30 of six devices, 10 of twenty, 8 of hundreds
//
// because a few numbers tell the spread badly. For the same reason it is at least a part of what values vary within a
// window, and at least the lower quartile of the spreads of all groups, if there are four. Where all of this is zero,
// nothing says how much is much, and nothing stands out.
//
//	off       the newest value stands out
//	drifting  the distance of the means from the median of the means grew evenly over the last six windows, and its
//	          growth stands out
//	noisy     what values vary within a window stands out, and is three times as much as of others in each of the last
//	          three windows
//	stuck     it had one value in the last four windows, and the values of nine in ten others changed in each of them
//	rejected  at least ten of its readings were rejected within a day, wholly or in part
//	silent    nothing was heard for three of the stated intervals
package outliers
